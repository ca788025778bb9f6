import { bareName } from '../../../core/crd/manifests/manifest-placement.ts'
import type { PolicyRow } from '../../features/policies/rows.ts'

/**
 * Removes built-in policies that a manifest of the same name replaces. Such a manifest must have been accepted at least
 * once. It must be in a manifests folder (which has one owner) or in a namespace of the platform team.
 */
export function notReplaced(
  rows: readonly PolicyRow[],
  platformNamespaces: ReadonlySet<string>,
): readonly PolicyRow[] {
  const replacing = new Set(
    rows.filter((row) => replaces(row, platformNamespaces)).map(({ name }) => bareName(name)),
  )
  return rows.filter(({ name, origin }) => origin !== 'built_in' || !replacing.has(name))
}

function replaces({ name, source, activeYaml }: PolicyRow, platformNamespaces: ReadonlySet<string>): boolean {
  if (activeYaml === null || source === 'api') return false
  return source === 'file' || platformNamespaces.has(name.slice(0, name.indexOf('/')))
}
