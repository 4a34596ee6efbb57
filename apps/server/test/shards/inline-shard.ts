import { LibuvIo } from "@iggy/storage";
import type { ServerConfig } from "../../src/config/index.js";
import { portableCipher } from "../../src/encryption/index.js";
import { openTcpListener } from "../../src/net/open-tcp-listener.js";
import { SocketSlots } from "../../src/net/socket-slots.js";
import type { ShardBoot } from "../../src/shards/boot.js";
import { ShardProgram } from "../../src/shards/shard-program.js";
import type { ShardThread } from "../../src/shards/threads.js";
import { systemClock } from "../../src/system-clock.js";

const nothing = (): void => undefined;
const silent = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/**
 * A shard in this thread, with a listener of its own: what its clients ask goes the way of the clients of every shard that
 * does not order metadata.
 */
export function inlineShard(
  boot: ShardBoot,
  config: Pick<ServerConfig, "tcp" | "messageBus">,
  listens: (port: number) => void,
): ShardThread {
  const program = new ShardProgram({
    boot,
    io: new LibuvIo(),
    clock: systemClock,
    makeCipher: portableCipher,
    logOf: () => silent,
  });
  program.start();
  const { shard } = boot.seat;
  const slots = new SocketSlots(boot.plan.slots);
  const listening = openTcpListener({ config, reception: program.reception, slots, log: silent });
  return {
    shard,
    ready: listening.then(({ port }) => {
      listens(port);
    }),
    ended: new Promise(nothing),
    stop: async () => {
      const listener = await listening;
      await listener.close();
      program.stop();
      return true;
    },
  };
}
