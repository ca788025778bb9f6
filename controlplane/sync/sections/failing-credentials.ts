import type { FailingCredential } from '../../../core/wire/operator/operator.ts'
import type { Configuration } from './configuration.ts'

/** Maximum number of reported Connectors. The reply that contains them is not paginated. */
const MAX_FAILING = 1_000

/**
 * Creates a function that lists the Connectors of the cluster whose credential could not be refreshed, sorted by name.
 * Caches the list of the last configuration, because each long poll needs it.
 */
export function createFailingCredentials(): (
  configuration: Configuration | null,
) => readonly FailingCredential[] {
  let read: Configuration | null = null
  let failing: readonly FailingCredential[] = []
  return (configuration) => {
    if (configuration === read) return failing
    read = configuration
    failing = failingIn(configuration)
    return failing
  }
}

function failingIn(configuration: Configuration | null): readonly FailingCredential[] {
  const errors = new Map(
    configuration?.connectors.flatMap(({ entry: { name, source, minted } }) =>
      source === 'kubernetes' && minted?.error != null ? [[name, minted.error] as const] : [],
    ),
  )
  return [...errors]
    .map(([connector, error]) => ({ connector, error }))
    .toSorted((a, b) => (a.connector < b.connector ? -1 : 1))
    .slice(0, MAX_FAILING)
}
