import { type IggyError, NotConnectedError } from "../errors/index.js";
import type { Link } from "../link/index.js";
import type { Roster } from "../routing/roster.js";
import type { Slot } from "../routing/router.js";
import { endpointText } from "../transport/index.js";
import type { Emit } from "./events.js";
import { ReplicaLink, type ReplicaLinkSettings } from "./replica-link.js";
import type { Session } from "./session.js";

export interface LinksSettings extends Omit<ReplicaLinkSettings, "onUp" | "emit"> {
  readonly emit: Emit;
  /** The link of a replica has its session. */
  readonly onUp: () => void;
}

/**
 * Every link of a client: one per replica of the roster, and the one of the bootstrap while nobody knows which replica is
 * behind it. With a single node there is the bootstrap link alone.
 */
export class Links {
  readonly #settings: LinksSettings;
  readonly #session: Session;
  /** In the order of replica ids. */
  #replicas = new Map<number, ReplicaLink>();
  #bootstrap: Slot | undefined;
  #roster: Roster | undefined;
  #leaderId: number | undefined;

  constructor(settings: LinksSettings, session: Session) {
    this.#settings = settings;
    this.#session = session;
  }

  get roster(): Roster | undefined {
    return this.#roster;
  }

  /** Whether a link can take requests. */
  get isReady(): boolean {
    if (this.#serving(this.#bootstrap) !== undefined) return true;
    for (const replica of this.#replicas.values()) if (this.#serving(replica.slot) !== undefined) return true;
    return false;
  }

  /** An open link without a session. The next sign-in uses it. */
  get keeper(): Link | undefined {
    return this.#serving(this.#bootstrap) === undefined ? this.#bootstrap?.link : undefined;
  }

  /** Address of the link to the metadata primary, else of the bootstrap link, else of any. */
  get address(): string | undefined {
    return (this.metadataSlot() ?? this.#bootstrap ?? this.anySlot())?.link.address;
  }

  /** The link of the metadata primary, or one whose node knows more; none while the former is dialed for the first time. */
  metadataSlot(): Slot | undefined {
    const leader = this.#leader();
    const slot = this.#serving(leader?.slot);
    if (slot !== undefined) return slot;
    return leader?.isOpening === true ? undefined : (this.#serving(this.#bootstrap) ?? this.readySlots()[0]);
  }

  /** The same, and another one rather than none. */
  anySlot(): Slot | undefined {
    return this.metadataSlot() ?? this.readySlots()[0];
  }

  /** The link of a replica. A single node has one link, whatever it calls itself. */
  replicaSlot(replicaId: number): Slot | undefined {
    if (this.#replicas.size === 0) return this.#serving(this.#bootstrap);
    return this.#serving(this.#replicas.get(replicaId)?.slot);
  }

  /** Replica whose first dial is under way. */
  opening(replica: number | "metadata"): ReplicaLink | undefined {
    const found = replica === "metadata" ? this.#leader() : this.#replicas.get(replica);
    return found?.isOpening === true ? found : undefined;
  }

  /** Every link that can take requests, in the order of replica ids, one to an unknown replica last. */
  readySlots(): readonly Slot[] {
    const slots = [...this.#replicas.values()].map(({ slot }) => slot);
    return [...slots, this.#bootstrap].filter((slot): slot is Slot => this.#serving(slot) !== undefined);
  }

  /** Why a replica that the roster names has no link. */
  faultOf(replicaId: number): IggyError | undefined {
    const replica = this.#replicas.get(replicaId);
    if (replica?.lastError === undefined) return undefined;
    return new NotConnectedError(
      `replica ${String(replicaId)} is not reachable at ${endpointText(replica.endpoint)}, the address it advertises`,
      { cause: replica.lastError, context: { replicaId, address: endpointText(replica.endpoint) } },
    );
  }

  /** Takes the link that the bootstrap got, and the roster that its node told; there is none without a session. */
  welcome(link: Link, roster: Roster | undefined): void {
    const isKept = this.#bootstrap?.link === link;
    this.#bootstrap = { link, replicaId: undefined };
    if (roster !== undefined) this.apply(roster);
    const isUsed = this.#slots().some((slot) => slot.link === link);
    if (isUsed && !isKept) this.#tell("link-up", link);
  }

  /** Takes the nodes as one of them told: new ones get a link, those that are gone or moved lose theirs. */
  apply(roster: Roster): void {
    this.#roster = roster;
    this.#noteLeader(roster.leaderId);
    const wanted = new Map(roster.replicas.map((replica) => [replica.replicaId, replica]));
    const before = this.#replicas;
    this.#replicas = new Map();
    for (const [replicaId, { endpoint }] of [...wanted].sort(([one], [other]) => one - other)) {
      const known = before.get(replicaId);
      const stays = known !== undefined && endpointText(known.endpoint) === endpointText(endpoint);
      this.#replicas.set(replicaId, stays ? known : new ReplicaLink(replicaId, endpoint, this.#replicaSettings()));
      if (stays) before.delete(replicaId);
    }
    for (const replica of before.values()) this.#retire(replica);
    if (this.#bootstrap !== undefined) this.#bootstrap = { ...this.#bootstrap, replicaId: roster.soleReplicaId };
    this.#placeBootstrap();
    this.startAll();
  }

  /** Dials every replica that has no link. */
  startAll(): void {
    if (!this.#settings.mayDial()) return;
    for (const replica of this.#replicas.values()) replica.start();
  }

  /** The same, with fresh retries for those that used them up. */
  restartAll(): void {
    if (!this.#settings.mayDial()) return;
    for (const replica of this.#replicas.values()) replica.restart();
  }

  /** A link ended. False when it was none of these any more. */
  closed(link: Link, error: IggyError | undefined): boolean {
    if (this.#bootstrap?.link === link) {
      this.#tell("link-down", link, error);
      this.#bootstrap = undefined;
      return true;
    }
    const replica = this.#behind(link);
    if (replica === undefined) return false;
    this.#tell("link-down", link, error);
    replica.lost(link);
    return true;
  }

  /** The session was reset: links that are bound to the one before it are of no use. */
  dropStale(): void {
    for (const { link } of this.#slots()) {
      if (link.boundFence !== undefined && link.boundFence !== this.#session.fence) link.close();
    }
  }

  /** Ends every link and every dial, except for one that is to sign in anew. */
  stop(keeper?: Link): void {
    const links = this.#slots().map(({ link }) => link);
    for (const link of links) if (link !== keeper) this.#tell("link-down", link);
    for (const replica of this.#replicas.values()) replica.stop();
    this.#replicas = new Map();
    this.#bootstrap = keeper === undefined ? undefined : { link: keeper, replicaId: undefined };
    if (keeper !== undefined) keeper.boundFence = undefined;
    for (const link of links) if (link !== keeper) link.close();
  }

  forgetRoster(): void {
    this.#roster = undefined;
    this.#leaderId = undefined;
  }

  #leader(): ReplicaLink | undefined {
    return this.#leaderId === undefined ? undefined : this.#replicas.get(this.#leaderId);
  }

  #serving(slot: Slot | undefined): Slot | undefined {
    const { fence, isBound } = this.#session;
    return slot !== undefined && isBound && slot.link.boundFence === fence ? slot : undefined;
  }

  #slots(): readonly Slot[] {
    const slots = [...this.#replicas.values()].map(({ slot }) => slot);
    return [this.#bootstrap, ...slots].filter((slot) => slot !== undefined);
  }

  #behind(link: Link): ReplicaLink | undefined {
    return [...this.#replicas.values()].find(({ slot }) => slot?.link === link);
  }

  #noteLeader(leaderId: number | undefined): void {
    const previous = this.#leaderId;
    // In the middle of an election the last leader stays the best guess.
    if (leaderId === undefined || leaderId === previous) return;
    this.#leaderId = leaderId;
    if (previous !== undefined) this.#settings.emit("leader-changed", { replicaId: leaderId, previous });
  }

  /** Gives the bootstrap link to the replica behind it, when the roster tells which one that is. */
  #placeBootstrap(): void {
    const slot = this.#serving(this.#bootstrap);
    const replicaId = slot === undefined ? undefined : this.#roster?.replicaBehind(slot.link);
    const replica = replicaId === undefined ? undefined : this.#replicas.get(replicaId);
    if (slot === undefined || replica === undefined) return;
    this.#bootstrap = undefined;
    if (replica.slot === undefined) replica.adopt(slot.link);
    else slot.link.retire();
  }

  /** A replica left the roster, or moved. Requests that wait on its link may end there. */
  #retire(replica: ReplicaLink): void {
    const link = replica.stop();
    if (link === undefined) return;
    const isOnlyLink = this.#bootstrap === undefined && this.#roster?.soleReplicaId === replica.replicaId;
    if (isOnlyLink) {
      this.#bootstrap = { link, replicaId: replica.replicaId };
      return;
    }
    this.#tell("link-down", link, undefined, replica.replicaId);
    link.retire();
  }

  #replicaSettings(): ReplicaLinkSettings {
    return {
      ...this.#settings,
      onUp: (_replica, link) => {
        this.#tell("link-up", link);
        this.#settings.onUp();
      },
    };
  }

  #tell(event: "link-up" | "link-down", link: Link, error?: IggyError, replicaId = this.#replicaIdOf(link)): void {
    this.#settings.emit(event, {
      address: link.address,
      ...(replicaId === undefined ? {} : { replicaId }),
      ...(error === undefined ? {} : { error }),
    });
  }

  #replicaIdOf(link: Link): number | undefined {
    return this.#bootstrap?.link === link ? this.#bootstrap.replicaId : this.#behind(link)?.replicaId;
  }
}
