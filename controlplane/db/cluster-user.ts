/** A user whom the cluster authenticated, with the attributes that its RBAC decides by. */
export type ClusterUser = {
  readonly username: string
  readonly uid?: string | undefined
  readonly groups: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined
}
