/** What this server reports of itself in login replies and statistics. */
export const SERVER_VERSION = "0.10.0";
