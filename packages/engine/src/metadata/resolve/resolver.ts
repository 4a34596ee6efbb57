import { type Codec, type Command, encode, isGranted, type Right } from "@iggy/protocol";
import type { User } from "../state/accounts.js";
import { decodedRequest } from "../attempt.js";
import type { MetadataConfig } from "../config.js";
import { Refusal } from "../refusal.js";
import type { MetadataState } from "../state/state.js";
import type { ClientRequest, Resolution, ResolveInputs } from "./resolution.js";

/** Who asks, and what a resolution may look at. The state is that of the last applied op: the log may be ahead of it. */
export class ResolveContext {
  readonly state: MetadataState;
  readonly config: MetadataConfig;
  readonly inputs: ResolveInputs;
  readonly client: bigint;
  readonly user: User;

  constructor(
    state: MetadataState,
    config: MetadataConfig,
    inputs: ResolveInputs,
    request: Pick<ClientRequest, "client">,
    user: User,
  ) {
    this.state = state;
    this.config = config;
    this.inputs = inputs;
    this.client = request.client;
    this.user = user;
  }

  mayDo(right: Right, streamId?: number, topicId?: number): boolean {
    return this.user.isRoot || isGranted(this.user.permissions, right, streamId, topicId);
  }
}

export type Resolver = (context: ResolveContext, body: Uint8Array) => Resolution | Promise<Resolution>;

/** A resolver of decoded requests. A body that does not decode is denied with the code of the fault (3). */
export const resolver =
  <Req>(
    command: Command<Req, unknown>,
    resolve: (context: ResolveContext, request: Req) => Resolution | Promise<Resolution>,
  ): Resolver =>
  (context, body) => {
    const request = decodedRequest(command, body);
    return request instanceof Refusal ? deny(request.code) : resolve(context, request);
  };

export const deny = (code: number): Resolution => ({ kind: "deny", code });

export const propose = <T>(operation: number, layout: Codec<T>, body: T): Resolution => ({
  kind: "propose",
  operation,
  body: encode(layout, body),
});

/** For operations that the log holds as the client sent them, but for bytes behind the last field. */
export const asSent = <Req>(command: Command<Req, unknown>): Resolver =>
  resolver(command, (_context, request) => propose(command.operation, command.request, request));
