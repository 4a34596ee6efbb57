import { decodeBase64, ErrorCode, type JsonObject, type JsonValue, parseByteSize, WireError } from "@iggy/protocol";

/** The members of an object of an answer, read into typed values. What does not fit is a `WireError` that names it. */
export class Members {
  readonly #object: JsonObject;

  constructor(json: JsonValue | undefined, name = "the answer") {
    if (typeof json !== "object" || json === null || isArray(json)) throw unfit(name, "an object");
    this.#object = json;
  }

  /** Names of all members, for maps. */
  get names(): readonly string[] {
    return Object.keys(this.#object);
  }

  at(name: string): JsonValue | undefined {
    return this.#object[name];
  }

  isAbsent(name: string): boolean {
    return this.#object[name] === undefined || this.#object[name] === null;
  }

  u32(name: string): number {
    const value = this.#object[name];
    if (typeof value !== "number" || !Number.isInteger(value) || value < 0 || value > 0xffff_ffff) {
      throw unfit(name, "a u32");
    }
    return value;
  }

  u64(name: string): bigint {
    return this.#unsigned(name, 64);
  }

  u128(name: string): bigint {
    return this.#unsigned(name, 128);
  }

  float(name: string): number {
    const value = this.#object[name];
    if (typeof value !== "number" && typeof value !== "bigint") throw unfit(name, "a number");
    return Number(value);
  }

  flag(name: string): boolean {
    const value = this.#object[name];
    if (typeof value !== "boolean") throw unfit(name, "a boolean");
    return value;
  }

  text(name: string): string {
    const value = this.#object[name];
    if (typeof value !== "string") throw unfit(name, "a text");
    return value;
  }

  /** Bytes: a text with a unit, digits, or a number. */
  size(name: string): bigint {
    const value = this.#object[name];
    return typeof value === "string" ? parseByteSize(value) : this.u64(name);
  }

  base64(name: string): Uint8Array {
    const bytes = decodeBase64(this.text(name));
    if (bytes === undefined) throw unfit(name, "base64");
    return bytes;
  }

  /** 128 bits as hexadecimal digits. */
  hex128(name: string): bigint {
    const digits = this.text(name);
    if (!/^[0-9a-f]{1,32}$/.test(digits)) throw unfit(name, "32 hexadecimal digits");
    return BigInt(`0x${digits}`);
  }

  /** The code of a word. */
  word(name: string, codes: Readonly<Record<string, number>>): number {
    const word = this.text(name);
    const code = Object.hasOwn(codes, word) ? codes[word] : undefined;
    if (code === undefined) throw unfit(name, Object.keys(codes).join(", "));
    return code;
  }

  u32s(name: string): readonly number[] {
    const items = arrayOf(this.#object[name], name);
    return items.map((item) => new Members({ item }).u32("item"));
  }

  list<T>(name: string, read: (item: Members) => T): readonly T[] {
    return listOf(this.#object[name], read, name);
  }

  object(name: string): Members {
    return new Members(this.#object[name], name);
  }

  #unsigned(name: string, bits: number): bigint {
    const value = this.#object[name];
    const integer =
      typeof value === "bigint"
        ? value
        : (typeof value === "number" && Number.isSafeInteger(value)) ||
            (typeof value === "string" && /^[0-9]{1,39}$/.test(value))
          ? BigInt(value)
          : undefined;
    if (integer === undefined || BigInt.asUintN(bits, integer) !== integer) throw unfit(name, `a u${String(bits)}`);
    return integer;
  }
}

/** The items of an array of objects. */
export function listOf<T>(json: JsonValue | undefined, read: (item: Members) => T, name = "the answer"): readonly T[] {
  return arrayOf(json, name).map((item, index) => read(new Members(item, `${name}[${String(index)}]`)));
}

function arrayOf(json: JsonValue | undefined, name: string): readonly JsonValue[] {
  if (typeof json !== "object" || json === null || !isArray(json)) throw unfit(name, "an array");
  return json;
}

const isArray = (json: object): json is readonly JsonValue[] => Array.isArray(json);

const unfit = (name: string, wanted: string): WireError =>
  new WireError("Validation", `${name} is not ${wanted}`, undefined, ErrorCode.InvalidFormat);
