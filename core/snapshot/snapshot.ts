import type { HostIndex } from '../connectors/registry.ts'
import type { EnforcementLevel } from '../decision/decision.ts'
import type { PermissionIndex } from '../decision/permissions/permissions.ts'
import type { PolicyIndex } from '../decision/policies/policy-index.ts'
import type { Verdict } from '../decision/vocabulary.ts'
import type { AgentEntry, GatewaySection, PermissionEntry, TokenKeyEntry } from '../wire/gateway/sync.ts'

/** Frozen configuration on which a gateway bases its decisions. A request keeps the snapshot with which it began. */
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
  /** Hex SHA-256 of each section's content, by its name. */
  readonly sections: Readonly<Record<string, string>>
  /** Validated permissions by section, so that the next build validates only the sections that changed. */
  readonly permissionShards?: ReadonlyMap<string, readonly PermissionEntry[]>
}
