/** Who learns the result of an operation. One object may wait for several, told apart by the tag it gave. */
export interface Completion {
  /**
   * `result` is what the system call returns, or a negative errno. `flags` are `CompletionFlag`s: with `more` another
   * completion of the same operation follows.
   */
  completed(result: number, tag: number, flags: number): void;
}
