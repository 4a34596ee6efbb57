import { type RawPartition, RawLink, RawSession, outcome } from "../raw-client/index.js";

/** A client of the run: a session that outlives the server, or a new one in its place. */
export class Client {
  session: RawSession;
  /** How many sessions it had: what an earlier one sent can't be sent again as it was. */
  sessions = 1;

  constructor(session: RawSession) {
    this.session = session;
  }

  static async connect(port: number): Promise<Client> {
    return new Client(await RawSession.open(port));
  }

  /** Goes on with its session on another connection. */
  async rebind(port: number): Promise<void> {
    const answer = await this.session.bind(await RawLink.connect(port));
    if (answer.kind !== "ok") throw new Error(`a session from before is refused: ${outcome(answer)}`);
  }

  /** Begins anew, as a client that was restarted does. */
  async renew(port: number): Promise<void> {
    this.session = await RawSession.open(port);
    this.sessions++;
  }

  partition(partition: RawPartition): RawPartition {
    return partition.by(this.session);
  }
}
