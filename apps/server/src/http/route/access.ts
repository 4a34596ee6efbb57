import type { Right } from "@iggy/protocol";

/**
 * Who may call a route: anybody, whoever brings a valid credential, or a user with a right. Rights are checked by the
 * command behind the route; here they are named for documents and tests.
 */
export type Access =
  | { readonly kind: "public" }
  | { readonly kind: "credential" }
  | {
      readonly kind: "right";
      readonly right: Right;
      /** Nobody needs it about themselves. */ readonly orSelf: boolean;
    };

/** The same of a route that takes a credential. */
export type CallerAccess = Exclude<Access, { readonly kind: "public" }>;

export const anyCredential: CallerAccess = { kind: "credential" };
export const needs = (right: Right): CallerAccess => ({ kind: "right", right, orSelf: false });
export const needsOrSelf = (right: Right): CallerAccess => ({ kind: "right", right, orSelf: true });
