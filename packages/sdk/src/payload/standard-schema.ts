/*
 * The interface that schema libraries share (standardschema.dev, version 1), as far as this client uses it. It is
 * structural, so schemas of Zod, Valibot, ArkType and others fit without a dependency.
 */

export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

export type SchemaResult<Output> =
  { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

type Types<Schema extends StandardSchema> = NonNullable<Schema["~standard"]["types"]>;

/** What a schema takes. */
export type SchemaInput<Schema extends StandardSchema> = Types<Schema>["input"];
/** What it makes of it. */
export type SchemaOutput<Schema extends StandardSchema> = Types<Schema>["output"];
