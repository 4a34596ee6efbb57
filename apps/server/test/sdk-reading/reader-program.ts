import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

/** A program that uses the SDK, in a process of its own. Its body has `client`, `place` and `group()`. */
export class ReaderProgram {
  readonly child: ChildProcess;
  /** Everything it printed so far. */
  output = "";
  /** When it printed `done`. */
  doneAt = Infinity;
  readonly #ended: Promise<number | null>;

  constructor(connectionString: string, body: string) {
    const program = `
      import { Client, CommitPolicy } from "@iggy/sdk";
      const place = { streamId: "programs", topicId: "t" };
      const client = new Client(${JSON.stringify(connectionString)});
      await client.stream.ensure("programs");
      await client.topic.ensure("programs", "t", 2);
      const group = () =>
        client.consumerGroup({ ...place, name: "group", pollOptions: { maxWait: 500, commit: CommitPolicy.Auto() } });
      ${body}
      console.log("done");
    `;
    const options = ["--conditions=@iggy/source", "--import", "tsx", "--input-type=module", "-e", program];
    this.child = spawn(process.execPath, options, {
      // From here the package is found.
      cwd: fileURLToPath(new URL("../..", import.meta.url)),
      stdio: ["ignore", "pipe", "pipe"],
      env: { PATH: process.env["PATH"] ?? "" },
    });
    const note = (text: Buffer): void => {
      this.output += text.toString();
      if (this.doneAt === Infinity && this.output.includes("done")) this.doneAt = performance.now();
    };
    this.child.stdout?.on("data", note);
    this.child.stderr?.on("data", note);
    this.#ended = new Promise((resolve) => this.child.once("close", resolve));
  }

  /** Resolves with its exit code. */
  ended(): Promise<number | null> {
    return this.#ended;
  }

  async kill(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.#ended;
  }
}
