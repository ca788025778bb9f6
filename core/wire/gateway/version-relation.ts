/** Relation of one version to another. `unsupported` means older by more than `SUPPORTED_MINORS` minor versions. */
export type VersionRelation = 'same' | 'newer' | 'older' | 'unsupported' | 'unknown'

/** Number of earlier minor versions whose gateways the control plane supports. */
const SUPPORTED_MINORS = 2

function versionRelation(theirs: string | null, ours: string): VersionRelation {
  const [their, our] = [numbersOf(theirs), numbersOf(ours)]
  if (their === null || our === null) return 'unknown'
  const differing = our.findIndex((number, index) => number !== their[index])
  if (differing === -1) return 'same'
  if ((their[differing] ?? 0) > (our[differing] ?? 0)) return 'newer'
  const [[theirMajor = 0, theirMinor = 0], [ourMajor = 0, ourMinor = 0]] = [their, our]
  return ourMajor === theirMajor && ourMinor - theirMinor <= SUPPORTED_MINORS ? 'older' : 'unsupported'
}

/** Returns major, minor and patch; null for text without them. A pre-release has the numbers of its release. */
function numbersOf(version: string | null): readonly number[] | null {
  const found = /^(\d+)\.(\d+)\.(\d+)/.exec(version ?? '')
  return found === null ? null : found.slice(1).map(Number)
}

/** Versions of gateway processes; null for a process that does not send one. */
type Versions = ReadonlyArray<string | null>

const RELATIONS = ['same', 'older', 'unsupported', 'newer', 'unknown'] as const satisfies VersionRelation[]

/** Counts gateway processes by the relation of their version to the control plane's version (`ours`). */
export function countRelations(versions: Versions, ours: string): Readonly<Record<VersionRelation, number>> {
  const groups = relationsOf(versions, ours)
  const counts = RELATIONS.map((relation) => [relation, groups.get(relation)?.length ?? 0])
  return Object.fromEntries(counts) as Record<VersionRelation, number>
}

/** Returns a warning for each kind of version skew between the processes of a gateway and the control plane. */
export function versionWarnings(versions: Versions, ours: string): readonly string[] {
  const groups = relationsOf(versions, ours)
  return (['unsupported', 'older', 'newer'] as const).flatMap((relation) => {
    const members = groups.get(relation) ?? []
    if (members.length === 0) return []
    const run = `${members.length} of ${versions.length} gateway processes`
    return [`${run} (${[...new Set(members)].sort().join(', ')}) ${TEXT[relation](ours)}`]
  })
}

function relationsOf(versions: Versions, ours: string): ReadonlyMap<VersionRelation, Versions> {
  // The relations are cached, because thousands of processes report only a few versions.
  const relations = new Map(
    [...new Set(versions)].map((version) => [version, versionRelation(version, ours)]),
  )
  return Map.groupBy(versions, (version) => relations.get(version) ?? 'unknown')
}

const TEXT: Readonly<Record<'unsupported' | 'older' | 'newer', (ours: string) => string>> = {
  unsupported: (ours) =>
    `run a version that the control plane (${ours}) does not support: the control plane supports the ${SUPPORTED_MINORS} previous minor versions. Restart them with a newer version.`,
  older: (ours) =>
    `run an older version than the control plane (${ours}). Restart them with the newer version; in a cluster, recreate their pods.`,
  newer: (ours) =>
    `run a newer version than the control plane (${ours}). Upgrade the control plane before its gateways.`,
}
