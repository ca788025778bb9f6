import * as z from 'zod'

/** Sources of rows without a manifest. `built_in`: created with the installation. */
export const RowOrigin = z.enum(['dashboard', 'command_line', 'built_in'])

/** Source of a manifest according to its annotations and labels; null if they do not state it. */
export const ManifestOrigin = z.object({
  /** The file in its repository. */
  file: z.string().nullable(),
  commit: z.string().nullable(),
  /** The tool that applied it, such as `Argo CD payments` or `Flux flux-system/apps`. */
  deployed_by: z.string().nullable(),
})

/** Source of an object, where it must be changed. */
export const ObjectOrigin = ManifestOrigin.extend({ from: z.enum(['manifest', ...RowOrigin.options]) })

/** Fields of each object that manifests can define. Objects of manifests are read-only in the API. */
export const ManagedFields = {
  source: z.enum(['kubernetes', 'api', 'file']),
  /** The manifest; null for objects of the API. */
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
 * One line, such as `policies/prod.yaml@1f2e3d4c5b6a` or `command line`.
 *
 * @param place Replaces the file of a manifest that names none.
 */
export function originText({ from, file, commit }: ObjectOrigin, place: string | null): string {
  if (from !== 'manifest') return ORIGIN_TEXT[from]
  const at = commit === null ? '' : `@${shortCommit(commit)}`
  return `${file ?? place ?? ORIGIN_TEXT.manifest}${at}`
}

function shortCommit(commit: string): string {
  return /^[0-9a-f]{40,64}$/i.test(commit) ? commit.slice(0, SHORT_COMMIT) : commit
}
