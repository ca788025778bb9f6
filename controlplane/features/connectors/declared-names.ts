import type { ConnectorRow } from './store.ts'

/** Returns the action names of the rows that a Connector declares. */
export function declaredNames({ spec }: Pick<ConnectorRow, 'spec'>): readonly string[] {
  return spec.actions.map(({ action }) => action)
}
