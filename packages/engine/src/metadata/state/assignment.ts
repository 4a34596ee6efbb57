/** Partitions of one member of a consumer group, in the order it received them. */
export interface Share {
  readonly slot: number;
  readonly partitions: readonly number[];
}

/** A partition that changes hands once its holder has committed what it was served, or takes too long. */
export interface PendingRevocation {
  readonly partitionId: number;
  readonly sourceSlot: number;
  readonly targetSlot: number;
  /** Prepare time of the join that started it, µs. */
  readonly createdAtMicros: number;
}

/** Shares in slot order. A revoked partition stays in the share of its source until the handover completes. */
export interface Assignment {
  readonly shares: readonly Share[];
  readonly pending: readonly PendingRevocation[];
}

/**
 * Assigns everything anew: partition i goes to the member at position i mod n of the slot order. For changes that leave
 * no reason to keep old shares: a member went, or the number of partitions changed.
 */
export function rebalanceEagerly(slots: readonly number[], partitionsCount: number): Assignment {
  const shares = slots.map((slot, position) => {
    const partitions: number[] = [];
    for (let id = position; id < partitionsCount; id += slots.length) partitions.push(id);
    return { slot, partitions };
  });
  return { shares, pending: [] };
}

interface Seat {
  readonly slot: number;
  /** What the member came with, being revoked or not, and what of it moved at once. */
  readonly held: readonly number[];
  readonly lost: Set<number>;
  readonly received: number[];
  /** Held, neither being revoked nor lost, in order of receipt. */
  readonly kept: number[];
  /** Places in the list of moves of what this member will receive. */
  readonly incoming: number[];
  quota: number;
}

const sizeOf = (seat: Seat): number => seat.kept.length + seat.received.length + seat.incoming.length;

/**
 * Makes room for a member that joined (and has an empty share here) while everyone else keeps as much as possible.
 *
 * Each member may keep `partitions / members`, the first `remainder` members that hold more keep one more. What is above
 * that moves, last received first: at once when nothing of it is unacknowledged, else as a pending revocation. A
 * revocation towards a member that is above its share itself gets another target. Counting a pending partition at its
 * target, shares differ by at most one afterwards, so completing a revocation never calls for another round.
 */
export function rebalanceCooperatively(
  { shares, pending }: Assignment,
  partitionsCount: number,
  inFlight: ReadonlySet<number>,
  nowMicros: number,
): Assignment {
  const moves: (PendingRevocation | undefined)[] = [...pending];
  const seats = seatsOf(shares, pending);
  setQuotas(seats, partitionsCount);
  const nextTarget = roundRobin(seats);

  for (const partitionId of unassigned(seats, partitionsCount)) nextTarget()?.received.push(partitionId);
  for (const seat of seats) {
    while (sizeOf(seat) > seat.quota) {
      const target = nextTarget();
      if (target === undefined) break;
      const redirected = seat.incoming.pop();
      if (redirected !== undefined) {
        redirect(moves, redirected, target);
        continue;
      }
      const partitionId = seat.kept.pop();
      if (partitionId === undefined) break;
      if (inFlight.has(partitionId)) {
        target.incoming.push(moves.length);
        moves.push({ partitionId, sourceSlot: seat.slot, targetSlot: target.slot, createdAtMicros: nowMicros });
      } else {
        seat.lost.add(partitionId);
        target.received.push(partitionId);
      }
    }
  }
  return { shares: seats.map(shareOf), pending: moves.filter((move) => move !== undefined) };
}

function seatsOf(shares: readonly Share[], pending: readonly PendingRevocation[]): Seat[] {
  const leaving = new Set(pending.map((move) => move.partitionId));
  const seats = shares.map(({ slot, partitions }): Seat => ({
    slot,
    held: partitions,
    lost: new Set(),
    received: [],
    kept: partitions.filter((id) => !leaving.has(id)),
    incoming: [],
    quota: 0,
  }));
  const bySlot = new Map(seats.map((seat) => [seat.slot, seat]));
  pending.forEach((move, index) => bySlot.get(move.targetSlot)?.incoming.push(index));
  return seats;
}

const shareOf = ({ slot, held, lost, received }: Seat): Share => ({
  slot,
  partitions: [...held.filter((id) => !lost.has(id)), ...received],
});

/** Quotas add up to the number of partitions. Those who hold more come first for the one-off extra partitions. */
function setQuotas(seats: readonly Seat[], partitionsCount: number): void {
  const fair = Math.floor(partitionsCount / seats.length);
  let remainder = partitionsCount % seats.length;
  for (const seat of seats) seat.quota = fair;
  const overFull = seats.filter((seat) => sizeOf(seat) > fair);
  const others = seats.filter((seat) => sizeOf(seat) <= fair);
  for (const seat of [...overFull, ...others]) {
    if (remainder === 0) return;
    seat.quota++;
    remainder--;
  }
}

/** Walks the members below their quota in slot order, again and again; undefined when none is left. */
function roundRobin(seats: readonly Seat[]): () => Seat | undefined {
  const targets = seats.filter((seat) => sizeOf(seat) < seat.quota);
  let position = 0;
  return () => {
    for (let tried = 0; tried < targets.length; tried++) {
      const seat = targets[position % targets.length];
      position++;
      if (seat !== undefined && sizeOf(seat) < seat.quota) return seat;
    }
    return undefined;
  };
}

function unassigned(seats: readonly Seat[], partitionsCount: number): number[] {
  const held = new Set(seats.flatMap((seat) => seat.held));
  const free: number[] = [];
  for (let id = 0; id < partitionsCount; id++) if (!held.has(id)) free.push(id);
  return free;
}

/** Gives a pending move another target; one that goes back to its source is off. */
function redirect(moves: (PendingRevocation | undefined)[], index: number, target: Seat): void {
  const move = moves[index];
  if (move === undefined) return;
  if (move.sourceSlot === target.slot) {
    moves[index] = undefined;
    target.kept.push(move.partitionId);
  } else {
    target.incoming.push(index);
    moves[index] = { ...move, targetSlot: target.slot };
  }
}

/** Hands one revoked partition to its target; the same assignment when nothing like it is pending. */
export function completeRevocation(assignment: Assignment, partitionId: number, sourceSlot: number): Assignment {
  const move = assignment.pending.find(
    (candidate) => candidate.partitionId === partitionId && candidate.sourceSlot === sourceSlot,
  );
  if (move === undefined) return assignment;
  return {
    shares: assignment.shares.map((share) => {
      if (share.slot === move.sourceSlot) {
        return { ...share, partitions: share.partitions.filter((id) => id !== partitionId) };
      }
      return share.slot === move.targetSlot ? { ...share, partitions: [...share.partitions, partitionId] } : share;
    }),
    pending: assignment.pending.filter((other) => other !== move),
  };
}
