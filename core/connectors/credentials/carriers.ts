/** Parts of a request in which agents send their own credentials. */
export type CredentialCarriers = {
  /** Names of header fields that carry credentials, in lower case. */
  readonly headers: readonly string[]
  /** Names of query parameters that carry credentials. */
  readonly query: readonly string[]
  /**
   * Query parameters that the API documents for credentials. A write is refused if the gateway removes any other
   * parameter from its query.
   */
  readonly documentedQuery?: readonly string[]
  /**
   * Names of form fields or top-level JSON members with credentials. If the list is not empty, the gateway reads forms
   * and JSON bodies to remove them.
   */
  readonly bodyFields: readonly string[]
  /** Path prefixes of file uploads. The gateway forwards these bodies unread, regardless of their media type. */
  readonly contentPaths?: readonly string[]
}
