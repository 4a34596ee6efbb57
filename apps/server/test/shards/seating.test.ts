import { afterEach, expect, it } from "vitest";
import { Mesh } from "../../src/shards/lanes/mesh.js";
import { createSeats } from "../../src/shards/lanes/seat.js";
import { ConnectionSeats } from "../../src/shards/seating.js";

const LANE_RECORDS = 2;
const meshes: Mesh[] = [];

/** The seats as shard 0 deals them, and the shards in which nobody takes anything yet. */
function seatsOf(shardCount: number, skipsOwn = false) {
  const warnings: string[] = [];
  const [own, ...others] = createSeats(shardCount, { main: LANE_RECORDS, reply: LANE_RECORDS }).map((seat) => {
    const mesh = new Mesh(seat);
    meshes.push(mesh);
    return mesh;
  });
  if (own === undefined) throw new Error("no seat");
  const seats = new ConnectionSeats({ mesh: own, skipsOwn, log: { warn: (_, message) => warnings.push(message) } });
  /** What has come to a shard: kind and descriptor of each record. */
  const arrived = (shard: number): number[] => {
    const taken: number[] = [];
    others[shard - 1]?.start({
      main: (_, record) => {
        record.u8();
        taken.push(record.u32());
      },
      reply: () => undefined,
    });
    return taken;
  };
  return { seats, warnings, arrived };
}

afterEach(() => {
  for (const mesh of meshes.splice(0)) mesh.close();
});

it("sockets go to the shards in turn, each with its descriptor", () => {
  const { seats, arrived } = seatsOf(3);
  const went = [50, 51, 52, 53, 54, 55].map((descriptor) => seats.seat(descriptor));
  expect(went).toEqual(["here", "elsewhere", "elsewhere", "here", "elsewhere", "elsewhere"]);
  expect([arrived(1), arrived(2)]).toEqual([
    [51, 54],
    [52, 55],
  ]);
});

it("a shard that has no room is left out, and without any other the socket stays here", () => {
  const { seats, warnings } = seatsOf(2);
  const went = Array.from({ length: 10 }, (_, descriptor) => seats.seat(descriptor));
  expect(went.filter((where) => where === "elsewhere")).toHaveLength(LANE_RECORDS);
  expect(went.slice(2 * LANE_RECORDS).every((where) => where === "here")).toBe(true);
  expect(warnings).toEqual([]);
});

it("a socket that no shard takes is refused and told", () => {
  const { seats, warnings } = seatsOf(3, true);
  const went = Array.from({ length: 2 * LANE_RECORDS + 1 }, (_, descriptor) => seats.seat(descriptor));
  expect(went.map((where) => where === "elsewhere")).toEqual([true, true, true, true, false]);
  expect(went.at(-1)).toBe("refused");
  expect(warnings).toHaveLength(1);
});

it("a shard that ended gets none", () => {
  const { seats } = seatsOf(3);
  seats.remove(1);
  expect([1, 2, 3, 4].map((descriptor) => seats.seat(descriptor))).toEqual(["here", "elsewhere", "here", "elsewhere"]);
  seats.remove(2);
  expect([5, 6].map((descriptor) => seats.seat(descriptor))).toEqual(["here", "here"]);
});
