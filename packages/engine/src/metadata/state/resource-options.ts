import { type OptionEntry, sortOptions } from "@iggy/protocol";

/** Values of a resource's options by provenance: those that a client set, and those that the server filled in. */
export interface OptionBlocks {
  readonly explicit: readonly OptionEntry[];
  readonly derived: readonly OptionEntry[];
}

/**
 * The option map of a resource. It holds what the log says, known keys or not: only the edge knows the catalogue, so that
 * replicas of different releases keep the same bytes. A key has one provenance; set explicitly wins.
 */
export class ResourceOptions implements OptionBlocks {
  readonly explicit: readonly OptionEntry[];
  readonly derived: readonly OptionEntry[];

  private constructor(explicit: readonly OptionEntry[], derived: readonly OptionEntry[]) {
    this.explicit = explicit;
    this.derived = derived;
  }

  /** Copies the values, which may be views into a buffer that is used again. */
  static of({ explicit, derived }: OptionBlocks): ResourceOptions {
    const set = new Set(explicit.map((entry) => entry.key));
    return new ResourceOptions(
      sortOptions(explicit.map(owned)),
      sortOptions(derived.filter((entry) => !set.has(entry.key)).map(owned)),
    );
  }

  /** The map after a patch: its keys take the patch's value and provenance, all others stay. */
  patched(patch: OptionBlocks): ResourceOptions {
    const touched = new Set([...patch.explicit, ...patch.derived].map((entry) => entry.key));
    const untouched = (entries: readonly OptionEntry[]): OptionEntry[] =>
      entries.filter((entry) => !touched.has(entry.key));
    return ResourceOptions.of({
      explicit: [...untouched(this.explicit), ...patch.explicit],
      derived: [...untouched(this.derived), ...patch.derived],
    });
  }

  get all(): readonly OptionEntry[] {
    return [...this.explicit, ...this.derived];
  }
}

const owned = ({ key, kind, value }: OptionEntry): OptionEntry => ({ key, kind, value: value.slice() });
