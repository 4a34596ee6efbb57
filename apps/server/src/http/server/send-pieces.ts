import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import type { IntegerForm } from "../json/index.js";
import type { PiecedText } from "../route/index.js";

/** What a client may take to receive an answer: this long, and more for what is large. */
const SEND_PATIENCE = { millis: 30_000, bytesPerMilli: 64 };

/**
 * Sends a text while it is made, as fast as the client takes it. One that takes too long loses its connection, since what
 * the text is made from is held for it.
 */
export function sendPieces(
  reply: FastifyReply,
  text: PiecedText,
  integers: IntegerForm,
  patience = SEND_PATIENCE,
): FastifyReply {
  const pieces = text.pieces(integers);
  const begun = begin(pieces, text.release);
  if (begun.isWhole) {
    text.release();
    return reply.send(Buffer.from(begun.text));
  }
  const { raw } = reply;
  const stalled = setTimeout(() => raw.destroy(), patience.millis + text.sizeBytes / patience.bytesPerMilli);
  const settle = (): void => {
    clearTimeout(stalled);
    text.release();
  };
  if (raw.closed) settle();
  else raw.once("close", settle);
  return reply.send(Readable.from(goOn(begun.text, pieces), { objectMode: false }));
}

/** The first two pieces, which tell whether there are more. */
function begin(
  pieces: Iterator<string, void>,
  release: () => void,
): { readonly text: string; readonly isWhole: boolean } {
  try {
    let text = "";
    for (let count = 0; count < 2; count++) {
      const next = pieces.next();
      if (next.done === true) return { text, isWhole: true };
      text += next.value;
    }
    return { text, isWhole: false };
  } catch (error) {
    release();
    throw error;
  }
}

function* goOn(text: string, pieces: Iterator<string, void>): Generator<string, void> {
  yield text;
  for (let next = pieces.next(); next.done !== true; next = pieces.next()) yield next.value;
}
