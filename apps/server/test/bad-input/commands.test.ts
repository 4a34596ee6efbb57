import {
  type AnyCommand,
  clientVersionInfo,
  commandByCode,
  commands,
  createStream,
  decode,
  decodeRequest,
  deleteStream,
  encode,
  ErrorCode,
  getMe,
  getStream,
  getStreams,
  identifier,
  IggyError,
  isAdmittedVersion,
  loginRegister,
  loginRegisterWithPat,
  namedId,
  numericId,
  Operation,
  ping,
  retiredCommands,
} from "@iggy/protocol";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type RunningServer, startServer } from "../start-server.js";
import { type Answer, outcome, RawLink, RawSession, Seeded, versionInfo } from "../raw-client/index.js";

/** How long any answer may take, on this machine, under the load of the other tests. */
const ANSWER_WITHIN_MILLIS = 1000;

const LEGACY_LOGINS = [38, 44];
const BIND = 15;
const CANCEL = 108;
const SYNC_GROUP = 606;

let server: RunningServer;
const sessions: RawSession[] = [];
let lasting: RawSession | undefined;

beforeAll(async () => {
  server = await startServer();
});
afterEach(async () => {
  for (const { link } of sessions.splice(0)) await link.end();
});
afterAll(async () => {
  await lasting?.close();
  await server.close();
});

/** A session that stays until a test ends it: signing in costs a password hash. */
async function signedIn(): Promise<RawSession> {
  if (lasting !== undefined && lasting.link.isOpen && outcome(await lasting.send(getMe, new Uint8Array(0))) === "ok") {
    return lasting;
  }
  return (lasting = await RawSession.open(server.port));
}

async function notSignedIn(): Promise<RawSession> {
  const session = new RawSession(await RawLink.connect(server.port));
  sessions.push(session);
  return session;
}

/** What a server answers to a body that does not decode as this command's; undefined when the body does decode. */
function refusalOf(command: AnyCommand, body: Uint8Array): string | undefined {
  try {
    decodeRequest(command, body);
    return undefined;
  } catch (error) {
    if (error instanceof IggyError) return `status ${error.code}`;
    throw error;
  }
}

/** Bodies that are none, or only begin like one of the command, or are noise. */
function badBodies(command: AnyCommand): readonly (readonly [string, Uint8Array])[] {
  const random = new Seeded(command.code);
  const sound = soundBody(command, random);
  return [
    ["no body", new Uint8Array(0)],
    ["the first half of a body", sound.subarray(0, sound.length >> 1)],
    ["a body without its last byte", sound.subarray(0, Math.max(0, sound.length - 1))],
    ["noise", random.bytes(64)],
    ["zeros", new Uint8Array(64)],
    ["ones", new Uint8Array(64).fill(0xff)],
    ["a long run of noise", random.bytes(20_000)],
  ];
}

/** A body that decodes; one that begins with a version begins with ours. */
function soundBody(command: AnyCommand, random: Seeded): Uint8Array {
  const body = encode(command.request, command.request.sample(random));
  const hasVersion = command.operation === Operation.Register || command.code === BIND;
  if (!hasVersion) return body;
  const foreign = decode(clientVersionInfo, body);
  const rest = body.subarray(encode(clientVersionInfo, foreign).length);
  return Buffer.concat([encode(clientVersionInfo, versionInfo), rest]);
}

/** The answer to a request, or undefined for the one command that gets none. */
async function timed(session: RawSession, command: AnyCommand, body: Uint8Array): Promise<Answer | undefined> {
  const overrides = session.session === 0n && command.operation !== Operation.Register ? { session: 1 } : {};
  const frame =
    command.operation === Operation.Register ? session.registerFrame(body) : session.frame(command, body, overrides);
  if (command.code === CANCEL && session.session !== 0n) {
    session.link.write(frame);
    return undefined;
  }
  const startedAt = performance.now();
  const answer = await session.link.ask(frame);
  expect(performance.now() - startedAt).toBeLessThan(ANSWER_WITHIN_MILLIS);
  return answer;
}

describe.each(commands.map((command) => [command.title, command] as const))("%s", (_title, command) => {
  it.each(badBodies(command))("signed in, with %s", async (_what, body) => {
    const session = await signedIn();
    const answer = await timed(session, command, body);
    const expected = command.code === CANCEL ? undefined : boundOutcome(command, body);
    expect(answer && outcome(answer)).toEqual(expected);
    if (answer?.kind !== "evicted") expect(outcome(await session.send(ping, new Uint8Array(0)))).toBe("ok");
  });

  it.each(badBodies(command))("not signed in, with %s", async (_what, body) => {
    const session = await notSignedIn();
    const answer = await timed(session, command, body);
    expect(answer && outcome(answer)).toBe(unboundOutcome(command, body));
  });
});

function boundOutcome(command: AnyCommand, body: Uint8Array): unknown {
  if (LEGACY_LOGINS.includes(command.code)) return "eviction 15";
  // Whoever is signed in stays who he is; whoever signs out has nothing to say; whoever is no member has no assignment.
  if (command.operation === Operation.Register) return versionRefusal(body) ?? "ok";
  if (command.operation === Operation.Logout || command.code === SYNC_GROUP) return "ok";
  const refusal = (command.code === BIND ? versionRefusal(body) : undefined) ?? refusalOf(command, body);
  return refusal ?? expect.stringMatching(/^(ok|status \d+|result \d+)$/);
}

function unboundOutcome(command: AnyCommand, body: Uint8Array): string {
  if (LEGACY_LOGINS.includes(command.code)) return "eviction 15";
  if (command.operation === Operation.Register) return versionRefusal(body) ?? loginRefusal(body);
  if (command.code === ping.code || command.operation === Operation.Logout) return "ok";
  if (command.code === BIND) {
    return versionRefusal(body) ?? refusalOf(command, body) ?? `status ${ErrorCode.Unauthenticated}`;
  }
  return command.operation === Operation.NonReplicated ? `status ${ErrorCode.Unauthenticated}` : "eviction 1";
}

/** The version is judged before anything behind it is read. */
function versionRefusal(body: Uint8Array): string | undefined {
  try {
    return isAdmittedVersion(decode(clientVersionInfo, body).protocolVersion) ? undefined : "eviction 14";
  } catch {
    return "eviction 15";
  }
}

/** Bodies of both logins go through one operation: one that reads as a token is judged as a token. */
function loginRefusal(body: Uint8Array): string {
  if (refusalOf(loginRegisterWithPat, body) === undefined) return "eviction 10";
  return refusalOf(loginRegister, body) === undefined ? "eviction 9" : "eviction 15";
}

describe("codes that are no command", () => {
  const never = [0, 2, 9, 18, 99, 125, 1000, 0x7fff_ffff, 0xffff_ffff];
  it.each([...retiredCommands.keys(), ...never])("code %i", async (code) => {
    const command = { code, operation: Operation.NonReplicated };
    expect(outcome(await (await signedIn()).send(command, new Uint8Array(8)))).toBe(
      `status ${ErrorCode.InvalidCommand}`,
    );
    const unbound = await notSignedIn();
    expect(outcome(await unbound.send(command, new Uint8Array(8)))).toBe(`status ${ErrorCode.Unauthenticated}`);
  });
});

describe("a replicated command sent as a read is refused with 5, and does nothing", () => {
  const replicated = commands.filter(({ operation }) => operation !== Operation.NonReplicated);
  it.each(replicated.map(({ title, code }) => [title, code] as const))("%s", async (_title, code) => {
    const session = await signedIn();
    const body = encode(createStream.request, { name: "never", options: [] });
    const answer = await session.send({ code, operation: Operation.NonReplicated }, body);
    expect(outcome(answer)).toBe(`status ${ErrorCode.FeatureUnavailable}`);
    expect((await session.call(getStreams, {})).streams).toEqual([]);
    const unbound = await notSignedIn();
    const refused = await unbound.send({ code, operation: Operation.NonReplicated }, body);
    expect(outcome(refused)).toBe(`status ${ErrorCode.Unauthenticated}`);
  });
});

describe("texts", () => {
  /** Not UTF-8: a lone continuation byte, an overlong form, a surrogate, a cut sequence, a code point above the last. */
  const texts = ["80", "c080", "eda080", "e282", "f4908080"].map((hex) => Buffer.from(hex, "hex"));
  const named = (bytes: Uint8Array): Buffer => Buffer.concat([Buffer.of(bytes.length), bytes]);
  const id = (bytes: Uint8Array): Buffer => Buffer.concat([Buffer.of(2, bytes.length), bytes]);

  it.each(texts)("that are no UTF-8 are refused: %s", async (bytes) => {
    const session = await signedIn();
    const one = encode(identifier, numericId(1));
    const bodies: readonly (readonly [number, Uint8Array])[] = [
      [202, named(bytes)],
      [200, id(bytes)],
      [203, id(bytes)],
      [302, Buffer.concat([one, Buffer.of(1, 0, 0, 0), named(bytes)])],
      [300, Buffer.concat([one, id(bytes)])],
      [33, Buffer.concat([named(bytes), named(Buffer.from("secret")), Buffer.of(1, 0)])],
      [33, Buffer.concat([named(Buffer.from("user")), named(bytes), Buffer.of(1, 0)])],
      [42, Buffer.concat([named(bytes), Buffer.alloc(8)])],
      [602, Buffer.concat([one, one, named(bytes)])],
      [31, id(bytes)],
    ];
    for (const [code, body] of bodies) {
      expect(outcome(await session.send(commandByCode(code)!, body)), `command ${code}`).toBe("status 3");
    }
  });

  it("of no length are refused as names, and 255 bytes are one", async () => {
    const session = await signedIn();
    expect(outcome(await session.send(createStream, named(Buffer.alloc(0))))).toBe("status 3");
    const longest = "\u{1f600}".repeat(63) + "abc";
    const { id: streamId } = await session.call(createStream, { name: longest, options: [] });
    expect((await session.call(getStream, { streamId: namedId(longest) }))?.stream.id).toBe(streamId);
    await session.call(deleteStream, { streamId: numericId(streamId) });
  });
});

it("bytes behind the last field of a request are ignored where the command is not exact", async () => {
  const session = await signedIn();
  for (const command of commands.filter(
    ({ operation, code }) => operation === Operation.NonReplicated && code !== 108,
  )) {
    if (LEGACY_LOGINS.includes(command.code) || command.code === BIND) continue;
    const sound = encode(command.request, command.request.sample(new Seeded(7)));
    const answer = await session.send(command, Buffer.concat([sound, Buffer.alloc(3, 0xff)]));
    if (command.exact) expect(outcome(answer), command.title).toBe("status 3");
    else expect(outcome(answer), command.title).not.toBe("status 3");
  }
});
