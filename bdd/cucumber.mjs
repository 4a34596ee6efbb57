const shared = { import: ["steps/**/*.ts"] };

/** What a single server can show. */
export default { ...shared, tags: "not @cluster" };

/** The scenarios that need more than one node: the harness starts single servers only. */
export const cluster = { ...shared, tags: "@cluster" };
