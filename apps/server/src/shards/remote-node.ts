import { ErrorCode } from "@iggy/protocol";
import type { NodeCommands } from "../dispatch/command-table.js";
import type { CommandRequest } from "../dispatch/command-request.js";
import { answerRead, isNodeCode } from "../node/node-service.js";
import type { Calls } from "./calls.js";
import { METADATA_SHARD } from "./remote-metadata.js";
import { nodeRead } from "./shard-calls.js";

/** Commands about the node, from connections of a shard that does not know it: shard 0 answers them. */
export class RemoteNode implements NodeCommands {
  private readonly calls: Calls;

  constructor(calls: Calls) {
    this.calls = calls;
  }

  read(request: CommandRequest, code: number): boolean {
    if (!isNodeCode(code)) return false;
    const { body, userId } = request;
    const { binding, ...facts } = request.peer;
    this.calls
      .ask(METADATA_SHARD, nodeRead, {
        code,
        body,
        userId,
        connection: { ...facts, binding: binding ?? null },
      })
      .then(
        ({ status, payload }) => {
          answerRead(request, status === 0 ? { payload } : { status });
        },
        () => {
          request.deny(ErrorCode.Error);
        },
      );
    return true;
  }
}
