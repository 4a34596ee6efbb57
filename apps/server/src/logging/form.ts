import { prettyFactory } from "pino-pretty";

/** Turns a JSON line of the logger into the line that is written. */
export type LineForm = (jsonLine: string) => string;

export const jsonForm: LineForm = (line) => line;

/** `[12:00:00.000] INFO: tcp: listening`, further fields behind it on the same line. */
export function textForm(hasColors: boolean): LineForm {
  return prettyFactory({
    colorize: hasColors,
    translateTime: "SYS:yyyy-mm-dd HH:MM:ss.l",
    messageFormat: "{if part}{part}: {end}{msg}",
    ignore: "part",
    singleLine: true,
  });
}
