/** The one seam to PostgreSQL: services and stores know no more of it. */
export type Query = {
  /** A transaction that is rolled back when it changes what a manifest says; the caller gets the manifest. */
  readonly refusesEdits?: true
  query<R = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ readonly rows: R[]; readonly rowCount: number }>
}

export type Db = Query & {
  /** One transaction on one connection: commits when `work` resolves, rolls back when it rejects. */
  tx<T>(work: (query: Query) => Promise<T>): Promise<T>
  /** One dedicated LISTEN connection per process, re-established when lost; `onNotify` is also called after a re-connect with an empty payload. */
  listen(channel: string, onNotify: (payload: string) => void): Promise<AsyncDisposable>
  close(): Promise<void>
}
