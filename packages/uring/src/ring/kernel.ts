/** Numbers of the kernel's interface that this package uses. */
export const Operation = {
  fsync: 3,
  pollAdd: 6,
  sendMessage: 9,
  accept: 13,
  asyncCancel: 14,
  fallocate: 17,
  openAt: 18,
  close: 19,
  read: 22,
  write: 23,
  send: 26,
  receive: 27,
  renameAt: 35,
  unlinkAt: 36,
  makeDirectoryAt: 37,
  linkAt: 39,
} as const;

/** In the priority field of operations on sockets. */
export const SocketFlag = { pollFirst: 1 << 0, multishotAccept: 1 << 0 } as const;

export const CompletionFlag = { more: 1 << 1, socketHasMore: 1 << 2 } as const;

/** In the flags word of the submission queue. */
export const QueueFlag = { completionOverflow: 1 << 1 } as const;

export const CancelFlag = { all: 1 << 0, any: 1 << 2 } as const;

export const SyncFlag = { dataOnly: 1 << 0 } as const;

export const MessageFlag = { waitAll: 0x100, noSignal: 0x4000 } as const;

export const AT_WORKING_DIRECTORY = -100;
export const AT_REMOVE_DIRECTORY = 0x200;
export const FALLOCATE_KEEP_SIZE = 1;
export const SOCKET_CLOSE_ON_EXEC = 0o2000000;
export const POLL_OUT = 4;

export const Errno = { interrupted: 4, again: 11, busy: 16, notEntered: 2, canceled: 125 } as const;
