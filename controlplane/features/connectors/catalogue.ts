import type * as z from 'zod'
import type { Catalogue } from '../../../core/connectors/catalogue.ts'
import { effectsOf } from '../../../core/connectors/effects/effects.ts'
import { connectorOfType } from '../../../core/connectors/registry.ts'
import { ConnectorType } from '../../../core/crd/connector-fields.ts'
import type { ActionsReply, ConnectorKindsReply } from '../../../core/wire/connectors.ts'

export type CatalogueReading = {
  kinds(): ConnectorKindsReply['connectors']
  /**
   * Returns the actions of a connector type in alphabetical order. Each action occurs once, with the strictest effect
   * and the highest risk of its rows in the catalogue.
   */
  actions(type: z.infer<typeof ConnectorType>): ActionsReply['actions']
}

export function createCatalogueReading({ rows, knownAction }: Catalogue): CatalogueReading {
  const namesOf = (type: string) => [...new Set(rows(type).map((row) => row.type))].sort()
  return {
    kinds: () =>
      ConnectorType.options.map((type) => {
        const connector = connectorOfType(type)
        return {
          type,
          domains: [...connector.domains({ name: type, domains: [], actions: [] })],
          auth: connector.defaultAuth.type,
          actions: namesOf(type).length,
        }
      }),
    actions: (type) =>
      namesOf(type).flatMap((name) => {
        const known = knownAction(name)
        if (known === null) return []
        const { connector, effect, risk } = known
        const effects = effectsOf({ type: name, connector, effect }) ?? []
        return [{ type: name, effect, risk, ...(effects.length === 0 ? {} : { effects: [...effects] }) }]
      }),
  }
}
