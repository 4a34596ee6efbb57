import { JsonSyntaxError } from "./json-error.js";
import type { JsonValue } from "./json-value.js";

/** Objects and arrays within each other; no body of the API needs ten. */
export const JSON_DEPTH_MAX = 64;
/** Digits of a u128 are 39. Longer integers would only cost time. */
const INTEGER_DIGITS_MAX = 40;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const SPACE = 0x20;
const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

// Sticky patterns run through long strings, such as payloads, at the speed of native code.
const plainRun = /[ !#-[\]-\uffff]*/y;
const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const escape = /\\(?:(["\\/bfnrt])|u([0-9a-fA-F]{4}))/y;
const word = /(?:true|false|null)/y;
const integer = /^-?[0-9]+$/;
const loneSurrogate = /\p{Surrogate}/u;

const escapes: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const words: Readonly<Record<string, JsonValue>> = { true: true, false: false, null: null };

/**
 * Parses JSON without loss: an integer above 2^53 is a bigint. Refused beside what JSON refuses: a name that an object
 * holds twice, text that is no Unicode, nesting beyond 64, integers of more than 40 digits. Throws `JsonSyntaxError`.
 */
export function parseJson(text: string): JsonValue {
  return new Parser(text).document();
}

/**
 * Members of an object, and nothing that they inherit: any name, `__proto__` too, is like any other. A class, since
 * objects that are made with a null prototype one by one are much slower.
 */
class Members {
  [name: string]: JsonValue;
}
Object.setPrototypeOf(Members.prototype, null);
Reflect.deleteProperty(Members.prototype, "constructor");

class Parser {
  private readonly text: string;
  private at = 0;
  private depth = 0;

  constructor(text: string) {
    this.text = text;
  }

  document(): JsonValue {
    const value = this.value();
    if (!Number.isNaN(this.peek())) this.refuse("nothing may follow the value");
    return value;
  }

  private value(): JsonValue {
    switch (this.peek()) {
      case QUOTE:
        return this.string();
      case OPEN_BRACE:
        return this.object();
      case OPEN_BRACKET:
        return this.array();
      default:
        return this.scalar();
    }
  }

  private object(): JsonValue {
    this.open();
    const object = new Members();
    if (!this.take(CLOSE_BRACE)) {
      do this.member(object);
      while (this.take(COMMA));
      if (!this.take(CLOSE_BRACE)) this.refuse("a comma or the end of the object belongs here");
    }
    this.depth--;
    return object;
  }

  private member(object: Members): void {
    if (this.peek() !== QUOTE) this.refuse("a name in quotes belongs here");
    const { at } = this;
    const name = this.string();
    if (name in object) this.refuse(`"${name.slice(0, 64)}" is there twice`, at);
    if (!this.take(COLON)) this.refuse("a colon belongs here");
    object[name] = this.value();
  }

  private array(): JsonValue {
    this.open();
    const array: JsonValue[] = [];
    if (!this.take(CLOSE_BRACKET)) {
      do array.push(this.value());
      while (this.take(COMMA));
      if (!this.take(CLOSE_BRACKET)) this.refuse("a comma or the end of the array belongs here");
    }
    this.depth--;
    return array;
  }

  private open(): void {
    if (this.depth === JSON_DEPTH_MAX) this.refuse(`more than ${JSON_DEPTH_MAX} levels`);
    this.depth++;
    this.at++;
  }

  private string(): string {
    const { text } = this;
    const start = this.at + 1;
    let end = endOf(plainRun, text, start);
    if (text.charCodeAt(end) === QUOTE) {
      this.at = end + 1;
      return text.slice(start, end);
    }
    let value = text.slice(start, end);
    while (text.charCodeAt(end) === BACKSLASH) {
      const [match, plain, code] = matchAt(escape, text, end) ?? [];
      if (match === undefined) this.refuse("this escape does not exist", end);
      value += code === undefined ? (escapes[plain ?? ""] ?? plain ?? "") : String.fromCharCode(parseInt(code, 16));
      const from = end + match.length;
      end = endOf(plainRun, text, from);
      value += text.slice(from, end);
    }
    if (text.charCodeAt(end) !== QUOTE) {
      this.refuse(end < text.length ? "a control character must be escaped" : "a text does not end", end);
    }
    if (loneSurrogate.test(value)) this.refuse("half of a surrogate pair stands alone", start);
    this.at = end + 1;
    return value;
  }

  private scalar(): JsonValue {
    const { text, at } = this;
    const end = endOf(number, text, at);
    if (end === 0) return this.word();
    this.at = end;
    const digits = text.slice(at, end);
    const value = Number(digits);
    if (Number.isSafeInteger(value)) return value;
    if (!integer.test(digits)) {
      if (!Number.isFinite(value)) this.refuse("the number is too large", at);
      return value;
    }
    if (digits.length > INTEGER_DIGITS_MAX) this.refuse(`a number of more than ${INTEGER_DIGITS_MAX} digits`, at);
    return BigInt(digits);
  }

  private word(): JsonValue {
    const [literal] = matchAt(word, this.text, this.at) ?? [];
    if (literal === undefined) {
      this.refuse(this.at < this.text.length ? "a value belongs here" : "the text ends too early");
    }
    this.at += literal.length;
    return words[literal] ?? null;
  }

  /** The next character that is no space; NaN at the end. */
  private peek(): number {
    const { text } = this;
    for (;;) {
      const code = text.charCodeAt(this.at);
      if (code !== SPACE && code !== LINE_FEED && code !== CARRIAGE_RETURN && code !== TAB) return code;
      this.at++;
    }
  }

  private take(code: number): boolean {
    if (this.peek() !== code) return false;
    this.at++;
    return true;
  }

  private refuse(fault: string, at = this.at): never {
    throw new JsonSyntaxError(fault, this.text, at);
  }
}

/** Where a sticky pattern that matches at `from` ends; 0 when it does not match. */
function endOf(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  pattern.test(text);
  return pattern.lastIndex;
}

function matchAt(pattern: RegExp, text: string, from: number): RegExpExecArray | null {
  pattern.lastIndex = from;
  return pattern.exec(text);
}
