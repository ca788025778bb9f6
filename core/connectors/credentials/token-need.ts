/** Facts of one action that determine the token that it needs. */
export type NeededAction = {
  readonly type: string
  /** Target of the action, for example `acme/site`; null if it is not known. */
  readonly target: string | null
  /** False only if the action certainly changes no file in a folder of workflows. */
  readonly changes_workflows: boolean
}

/** Repositories and permissions that a short-lived token needs for one request. */
export type TokenNeed = {
  /** Repositories as `owner/name`, in lower case and sorted; null for a token that is not bound to repositories. */
  readonly repositories: readonly string[] | null
  /** Permissions as `name:access`, or scopes of OAuth 2.0; sorted. */
  readonly permissions: readonly string[]
  /**
   * True for a request that also reads data that its actions do not name, for example the selection of a GraphQL
   * mutation. The token then has the read access of all permissions of the Connector.
   */
  readonly readsMore: boolean
}

/** Returns the text by which tokens are cached. Equal needs have equal keys. */
export function tokenNeedKey({ repositories, permissions, readsMore }: TokenNeed): string {
  return JSON.stringify([repositories, permissions, readsMore])
}
