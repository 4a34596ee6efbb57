import { ErrorCode, getUsers, logoutUser, numericId, updatePermissions } from "@iggy/protocol";
import { describe, expect, it } from "vitest";
import { outcome, RawSession } from "../raw-client/index.js";
import { MemoryMachine } from "../server/memory-machine.js";

const MIB = 1024 * 1024;

describe("an operation that is too large", () => {
  it("is refused before it is read", async () => {
    await using machine = await MemoryMachine.create();
    const server = await machine.start();
    const session = await RawSession.open(server.port);
    const grant = {
      streamId: 1,
      manageStream: false,
      readStream: true,
      manageTopics: false,
      readTopics: false,
      pollMessages: false,
      sendMessages: false,
      topics: [],
    };
    const permissions = {
      global: {
        manageServers: false,
        readServers: false,
        manageUsers: false,
        readUsers: false,
        manageStreams: false,
        readStreams: false,
        manageTopics: false,
        readTopics: false,
        pollMessages: false,
        sendMessages: false,
      },
      streams: Array.from({ length: 100_000 }, () => grant),
    };
    const answer = await session.ask(updatePermissions, { userId: numericId(7), permissions });
    expect(outcome(answer)).toBe(`status ${ErrorCode.InvalidSizeBytes}`);
    expect((await session.call(getUsers, {})).users).toHaveLength(1);
    expect(machine.fatal).toEqual([]);
  });

  it("is no sign-out: what comes with one stays out of the log", async () => {
    await using machine = await MemoryMachine.create();
    const server = await machine.start({
      "message_bus.max_message_size": "128 MiB",
      "partition.transfer_artifact_bytes_max": "2 GiB",
    });
    const session = await RawSession.open(server.port);
    expect(outcome(await session.send(logoutUser, new Uint8Array(70 * MIB)))).toBe("ok");
    expect(outcome(await (await RawSession.open(server.port)).send(logoutUser, new Uint8Array([1])))).toBe("ok");
    expect(machine.fatal).toEqual([]);
  });
});
