/** The interface to PostgreSQL that services and stores use. */
export type Query = {
  /** True for a transaction that is rolled back when it edits an object of a manifest; the caller gets the manifest. */
  readonly refusesEdits?: true
  query<R = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ readonly rows: R[]; readonly rowCount: number }>
}

export type Db = Query & {
  /** Runs one transaction on one connection: commits when `work` resolves, rolls back when it rejects. */
  tx<T>(work: (query: Query) => Promise<T>): Promise<T>
  /**
   * Runs `work` on one connection outside of a transaction, and closes the connection: its settings and locks end with
   * it.
   */
  session<T>(work: (query: Query) => Promise<T>): Promise<T>
  /**
   * Listens on a dedicated connection per process and reconnects when it is lost. Calls `onNotify` with an empty
   * payload after a reconnect.
   */
  listen(channel: string, onNotify: (payload: string) => void): Promise<AsyncDisposable>
  close(): Promise<void>
}
