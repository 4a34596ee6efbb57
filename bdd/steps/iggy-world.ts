import { World, setWorldConstructor } from "@cucumber/cucumber";
import type { Client, CreateMessage, PolledMessages, Stream, StreamDetails, TopicDetails } from "@iggy/sdk";
import type { RunningServer } from "@iggy/server";

/** What the steps of one scenario tell each other. A value exists once the step that makes it has run. */
export class IggyWorld extends World {
  server?: RunningServer;
  client?: Client;
  stream?: StreamDetails;
  streams?: Stream[];
  topic?: TopicDetails;
  sent: CreateMessage[] = [];
  confirmations = 0;
  polled?: PolledMessages;
  /** The outcome of the last raw command: the response, or the error. */
  raw?: Uint8Array | Error;
}

setWorldConstructor(IggyWorld);

/** The value of an earlier step. Fails the scenario when that step is missing. */
export function made<T>(step: string, value: T | undefined): T {
  if (value === undefined) throw new Error(`a step that makes ${step} must come first`);
  return value;
}
