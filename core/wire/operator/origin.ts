import * as z from 'zod'

/** Origins of rows without a manifest. `built_in` rows are created together with the installation. */
export const RowOrigin = z.enum(['dashboard', 'command_line', 'built_in'])

/**
 * Source of a manifest according to its annotations and labels. A field is null if neither an annotation nor a label
 * states its value.
 */
export const ManifestOrigin = z.object({
  /** Path of the file in its repository. */
  file: z.string().nullable(),
  commit: z.string().nullable(),
  /** Tool that applied the manifest, such as `Argo CD payments` or `Flux flux-system/apps`. */
  deployed_by: z.string().nullable(),
})

/** Origin of an object: the place where a user must change it. */
export const ObjectOrigin = ManifestOrigin.extend({ from: z.enum(['manifest', ...RowOrigin.options]) })

/** Fields of every object that a manifest can define. The API cannot change objects of manifests. */
export const ManagedFields = {
  source: z.enum(['kubernetes', 'api', 'file']),
  /** Name of the manifest that defines the object; null for objects of the API. */
  managed_by: z.string().nullable(),
  origin: ObjectOrigin,
}

export type Managed = z.infer<z.ZodObject<typeof ManagedFields>>
export type RowOrigin = z.infer<typeof RowOrigin>
export type ManifestOrigin = z.infer<typeof ManifestOrigin>
export type ObjectOrigin = z.infer<typeof ObjectOrigin>

export const UNKNOWN_ORIGIN: ManifestOrigin = { file: null, commit: null, deployed_by: null }

const ORIGIN_TEXT: Readonly<Record<ObjectOrigin['from'], string>> = {
  manifest: 'manifest',
  dashboard: 'dashboard',
  command_line: 'command line',
  built_in: 'built in',
}

const SHORT_COMMIT = 12

/**
 * Formats the origin as one line, such as `policies/prod.yaml@1f2e3d4c5b6a` or `command line`. For a manifest whose
 * origin has no file, the line contains `place` in place of the file.
 */
export function originText({ from, file, commit }: ObjectOrigin, place: string | null): string {
  if (from !== 'manifest') return ORIGIN_TEXT[from]
  const at = commit === null ? '' : `@${shortCommit(commit)}`
  return `${file ?? place ?? ORIGIN_TEXT.manifest}${at}`
}

function shortCommit(commit: string): string {
  return /^[0-9a-f]{40,64}$/i.test(commit) ? commit.slice(0, SHORT_COMMIT) : commit
}
