import * as z from 'zod'
import { described } from '../described.ts'

/** Matches a text without control characters, which would hide a command from users who review the manifest. */
const visible = /^[^\x00-\x1f\x7f]*$/

export const EnvSourceSpec = z.strictObject({
  name: described(
    z
      .string()
      .max(128)
      .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of an environment variable, such as CODEHOST_TOKEN'),
    'Name of the variable. The control plane reads it when it starts.',
    'CODEHOST_TOKEN',
  ),
})

export const FileSourceSpec = z.strictObject({
  path: described(
    z
      .string()
      .max(1_024)
      .regex(/^\/[^\x00-\x1f\x7f]+$/, 'an absolute path'),
    'Absolute path of the file. The control plane reads the file again within seconds of a change. In a cluster, the file must be below `DIR/NAMESPACE/`, where DIR is a directory that the installation lists (`controlPlane.credentialFileDirs`) and NAMESPACE the namespace of the Connector.',
    '/run/secrets/codehost.token',
  ),
})

export const ExecSourceSpec = z.strictObject({
  command: described(
    z
      .string()
      .max(1_024)
      .regex(/^([^/\x00-\x1f\x7f]+|\/[^\x00-\x1f\x7f]+)$/, 'the name of a program, or its absolute path'),
    'Program to run: a name that is looked up in `PATH`, or an absolute path. No shell interprets it.',
    'gh',
  ),
  args: described(
    z.array(z.string().max(4_096).regex(visible, 'must have no control characters')).max(64).default([]),
    'Arguments of the program.',
    ['auth', 'token'],
  ),
  env: described(
    z
      .array(
        z.strictObject({
          name: described(EnvSourceSpec.shape.name, 'Name of the variable.', 'GH_HOST'),
          value: described(
            z.string().max(4_096).regex(visible, 'must have no control characters'),
            'Value of the variable.',
            'git.example.com',
          ),
        }),
      )
      .max(32)
      .default([]),
    'Environment variables for the program, in addition to those it always gets: `PATH`, `KUBERNETES_EXEC_INFO`, and variables of the user and their session, such as `HOME`.',
    [{ name: 'GH_HOST', value: 'git.example.com' }],
  ),
})

export type ExecSourceSpec = z.infer<typeof ExecSourceSpec>

type LocalSources = {
  readonly env?: { readonly name: string } | undefined
  readonly file?: { readonly path: string } | undefined
  readonly exec?: { readonly command: string } | undefined
}

/**
 * Variable, file or command from which the control plane reads a credential. Nothing is stored before the first read.
 */
export type LocalSource = { readonly kind: 'env' | 'file' | 'exec'; readonly subject: string }

/**
 * Returns the variable, file or command from which the control plane reads the credential; null if the credential has
 * none of these sources. The subject of `exec` is the command without its arguments, because these may contain secrets.
 */
export function localSourceOf(credential: LocalSources | undefined): LocalSource | null {
  const { env, file, exec } = credential ?? {}
  if (env !== undefined) return { kind: 'env', subject: env.name }
  if (file !== undefined) return { kind: 'file', subject: file.path }
  return exec === undefined ? null : { kind: 'exec', subject: exec.command }
}

/** Reports whether the path has no segment `.` or `..` and no empty segment, so that its text shows where it leads. */
export function isPlainPath(path: string): boolean {
  return !/\/(\.{0,2})(\/|$)/.test(path)
}

export const PLAIN_PATH = 'must have no segment . or .. and no //; write the path without them'

/**
 * Rules of an installation for credentials whose source is on the control plane's machine: variables, files and
 * commands.
 */
export type LocalSourceRules = {
  /** True if manifests of a folder may name variables, files and commands of the machine. */
  readonly isAllowed: boolean
  /**
   * Directories for credential files of Connectors of a cluster. Each namespace has its own folder in every directory.
   */
  readonly fileDirs: readonly string[]
}

/** Rules of an installation in which no credential has its source on the control plane's machine. */
export const NO_LOCAL_SOURCES: LocalSourceRules = { isAllowed: false, fileDirs: [] }

/**
 * Error text for the sources `env` and `exec` in a cluster. They are refused, because any tenant could read variables
 * of the control plane or run commands in it.
 */
export const NOT_IN_CLUSTER =
  'works only in an installation on one machine, not in a cluster; in a cluster, create a Secret and name it in secretRef'

type Origin = { readonly source: string; readonly namespace: string; readonly rules: LocalSourceRules }

/**
 * Returns the reason why a Connector must not read its credential from this variable, file or command. Returns null if
 * the Connector may do so, and for a credential from another source. Compares the path of a file only as text; the code
 * that reads the file checks where the path leads.
 */
export function localSourceProblem(
  credential: LocalSources | undefined,
  { source, namespace, rules }: Origin,
): string | null {
  const local = localSourceOf(credential)
  if (local === null) return null
  const field = `spec.credential.${local.kind}`
  if (local.kind === 'file' && !isPlainPath(local.subject)) return `${field}.path: ${PLAIN_PATH}`
  if (source === 'file')
    return rules.isAllowed
      ? null
      : `${field}: this control plane does not read credentials from its machine, because LOCAL_CREDENTIALS is off; store the credential, and name it in secretRef or vault`
  if (local.kind !== 'file') return `${field}: ${NOT_IN_CLUSTER}`
  if (rules.fileDirs.some((dir) => local.subject.startsWith(`${folderOf(dir, namespace)}/`))) return null
  return rules.fileDirs.length === 0
    ? `${field}.path: the installation lists no directory for credential files (controlPlane.credentialFileDirs); ask the platform team to list one, or name a Secret in secretRef`
    : `${field}.path: must be below ${rules.fileDirs.map((dir) => folderOf(dir, namespace)).join(' or ')}; mount the file there, or name a Secret in secretRef`
}

/** Returns the folder for the files of a namespace. Connectors of other namespaces cannot name files in the folder. */
export function folderOf(dir: string, namespace: string): string {
  return `${dir}/${namespace}`
}
