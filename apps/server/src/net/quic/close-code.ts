/** With what the server closes a connection, as official clients know it. */
export const CloseCode = { shutdown: 0x1003, protocolViolation: 0x1004 } as const;
