import { addressKind } from "../kinds/address.js";
import { listKind } from "../kinds/list.js";
import type { Bounds } from "../kinds/kind.js";
import { boolKind, choiceKind, floatKind, intKind, secretKind, textKind } from "../kinds/plain.js";
import { durationKind, sizeKind, type SizeBounds, type TextBounds } from "../kinds/quantity.js";
import { key, optional, secret } from "../schema.js";

/** Most elements of a list key. */
const LIST_MAX = 256;

export const bool = (value: boolean, description: string) => key(boolKind, String(value), description);

export const int = (value: number, bounds: Bounds, description: string) =>
  key(intKind(bounds), String(value), description);

export const float = (value: number, bounds: Bounds, description: string) =>
  key(floatKind(bounds), String(value), description);

export const text = (value: string, description: string) => key(textKind(), value, description);

export const secretText = (description: string) => secret(key(secretKind, "", description));

export const choice = <const T extends string>(value: T, choices: readonly T[], description: string) =>
  key(choiceKind(choices), value, description);

export const duration = (value: string, bounds: TextBounds, description: string) =>
  key(durationKind(bounds), value, description);

export const size = (value: string, bounds: SizeBounds, description: string) =>
  key(sizeKind(bounds), value, description);

export const optionalSize = (bounds: SizeBounds, description: string) => optional(sizeKind(bounds), description);

export const address = (value: string, description: string) => key(addressKind, value, description);

export const texts = (values: readonly string[], description: string) =>
  key(listKind(textKind(), LIST_MAX), `[${values.map((value) => `"${value}"`).join(", ")}]`, description);
