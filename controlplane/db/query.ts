/** Interface to PostgreSQL for services and stores. */
export type Query = {
  /**
   * True when `DASHBOARD_EDITING` is `yaml`. A transaction that edits an object which manifests define is then rolled
   * back, and the error contains the manifest to commit.
   */
  readonly refusesEdits?: true
  query<R = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ readonly rows: R[]; readonly rowCount: number }>
}

export type Db = Query & {
  /** Runs one transaction on one connection. Commits when `work` resolves and rolls back when `work` rejects. */
  tx<T>(work: (query: Query) => Promise<T>): Promise<T>
  /**
   * Runs `work` on one connection outside of a transaction. Closes the connection afterwards, which ends its settings
   * and advisory locks. Rejects when `isPolling` is true.
   */
  session<T>(work: (query: Query) => Promise<T>): Promise<T>
  /**
   * Runs LISTEN on a dedicated connection of the process, and reconnects when the connection is lost. After a
   * reconnect, calls `onNotify` with an empty payload.
   */
  listen(channel: string, onNotify: (payload: string) => void): Promise<AsyncDisposable>
  /**
   * True behind a connection pooler without a direct connection to PostgreSQL. `listen` then polls and calls
   * `onNotify` with empty payloads.
   */
  readonly isPolling: boolean
  /** Returns the milliseconds since the server last reported a full disk; infinite when it never did. */
  msSinceFullDisk(): number
  close(): Promise<void>
}
