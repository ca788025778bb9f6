import type { Labels } from '../../../core/crd/allowed-namespaces.ts'
import { allLabels } from '../../db/namespaces.ts'
import type { Query } from '../../db/query.ts'
import { declaredNames } from '../connectors/domains.ts'
import { storedClaims } from '../connectors/host-claims.ts'
import type { Claim } from '../connectors/host-conflicts.ts'
import { type ConnectorRow, listConnectors } from '../connectors/rows.ts'
import { type GatewayRow, listGateways } from '../gateways/rows.ts'
import { listGroups } from '../users/rows.ts'
import { fullNameOf } from './full-name.ts'
import { type DesiredRow, listDesired } from './store.ts'

/**
 * Rows of other objects that applying one object reads. They are read once per transaction, because a change may apply
 * hundreds of objects. Code that writes these rows must report the change here.
 */
export type ApplyReads = {
  gateways(): Promise<readonly GatewayRow[]>
  /** Connectors by name, in the order in which they claim hosts. */
  connectors(): Promise<ReadonlyMap<string, ConnectorRow>>
  /** Actions that Connectors in force declare. */
  declaredActions(): Promise<readonly string[]>
  /** Claims of every Connector object, by its full name. */
  claims(): Promise<ReadonlyMap<string, Claim>>
  labels(namespace: string): Promise<Labels | undefined>
  /** Returns the approver groups that have members. */
  groups(): Promise<ReadonlySet<string>>
  gatewaysChanged(): void
  connectorWritten(row: ConnectorRow): Promise<void>
  connectorDeleted(name: string): Promise<void>
  /** Reports changed claims of an object. Must be called before the object is applied. */
  claimsChanged(row: DesiredRow): Promise<void>
  claimsDeleted(row: DesiredRow): Promise<void>
}

export function createApplyReads(q: Query): ApplyReads {
  let gateways: Promise<readonly GatewayRow[]> | undefined
  let connectors: Promise<Map<string, ConnectorRow>> | undefined
  let declared: Promise<readonly string[]> | undefined
  let claims: Promise<Map<string, Claim>> | undefined
  let groups: Promise<ReadonlySet<string>> | undefined
  let labels: Promise<ReadonlyMap<string, Labels>> | undefined
  const byName = () => {
    connectors ??= listConnectors(q).then((rows) => new Map(rows.map((row) => [row.name, row])))
    return connectors
  }
  const allClaims = () => {
    claims ??= listDesired(q).then(claimsOfRows)
    return claims
  }
  const changeConnectors = async (change: (rows: Map<string, ConnectorRow>) => void) => {
    declared = undefined
    change(await byName())
  }
  return {
    gateways() {
      gateways ??= listGateways(q)
      return gateways
    },
    connectors: byName,
    declaredActions() {
      declared ??= byName().then((rows) => [...rows.values()].flatMap(declaredNames))
      return declared
    },
    claims: allClaims,
    async labels(namespace) {
      labels ??= allLabels(q)
      return (await labels).get(namespace)
    },
    groups() {
      groups ??= listGroups(q)
      return groups
    },
    gatewaysChanged() {
      gateways = undefined
    },
    connectorWritten: (row) => changeConnectors((rows) => rows.set(row.name, row)),
    connectorDeleted: (name) => changeConnectors((rows) => rows.delete(name)),
    async claimsChanged(row) {
      if (row.kind === 'Connector') (await allClaims()).set(fullNameOf(row), claimOf(row))
    },
    async claimsDeleted(row) {
      if (row.kind === 'Connector') (await allClaims()).delete(fullNameOf(row))
    },
  }
}

function claimsOfRows(rows: readonly DesiredRow[]): Map<string, Claim> {
  const connectors = rows.filter(({ kind }) => kind === 'Connector')
  return new Map(connectors.map((row) => [fullNameOf(row), claimOf(row)]))
}

function claimOf(row: DesiredRow): Claim {
  return { uid: row.uid, claims: storedClaims(row) }
}
