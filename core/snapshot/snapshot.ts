import type { HostIndex } from '../connectors/registry.ts'
import type { EnforcementLevel } from '../decision/decision.ts'
import type { PermissionIndex } from '../decision/permissions/permissions.ts'
import type { PolicyIndex } from '../decision/policies/policy-index.ts'
import type { Verdict } from '../decision/vocabulary.ts'
import type { AgentEntry, GatewaySection, PermissionEntry, TokenKeyEntry } from '../wire/gateway/sync.ts'

/** All inputs of a gateway's decisions, frozen. A request loads it once and keeps it to its end. */
export type Snapshot = {
  readonly version: number
  readonly gateway: GatewaySection & {
    readonly level: EnforcementLevel
    readonly defaultVerdict: Verdict
  }
  readonly agentsByName: ReadonlyMap<string, AgentEntry>
  readonly hosts: HostIndex
  readonly permissions: PermissionIndex
  readonly policies: PolicyIndex
  readonly keys: readonly TokenKeyEntry[]
  /** Section name -> hex SHA-256 of its content. */
  readonly sections: Readonly<Record<string, string>>
  /** The validated permissions by section, so that the next build validates only the shards that changed. */
  readonly permissionShards?: ReadonlyMap<string, readonly PermissionEntry[]>
}
