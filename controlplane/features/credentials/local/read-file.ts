import { constants } from 'node:fs'
import { open, realpath } from 'node:fs/promises'
import { folderOf } from '../../../../core/crd/credentials/local-source-spec.ts'
import { MintError } from '../minting/mint.ts'
import type { LocalReading } from './local-source.ts'

/** Maximum size of the content in bytes. */
const MAX_BYTES = 64 * 1_024

type Confinement = { readonly dirs: readonly string[]; readonly namespace: string }

/**
 * Reads the credential in a file. Rejects with a `MintError` whose message contains the path and nothing of the
 * content.
 *
 * @param confinement Directories in which the file must be, and the namespace of the Connector: the file must be in the
 *   folder of this namespace, also after symbolic links are resolved. Null admits any file.
 */
export async function readFileSource(path: string, confinement: Confinement | null): Promise<LocalReading> {
  const target = await realpath(path).catch((error: unknown) => {
    throw problem(path, error)
  })
  if (confinement !== null && !(await isInside(target, confinement)))
    throw new MintError(
      `The file ${path} is a link that leads out of the folder of the namespace ${confinement.namespace}, so it is not read. Replace the link by a file in this folder.`,
    )
  const text = await readText(path, target)
  if (text === '') throw new MintError(`The file ${path} is empty. Write the credential to it.`)
  return { secret: text, lifetimeMs: null }
}

async function isInside(target: string, { dirs, namespace }: Confinement): Promise<boolean> {
  for (const dir of dirs) {
    const real = await realpath(dir).catch(() => null)
    // `dir` is resolved, but the folder of the namespace is not resolved: a symbolic link in place of this folder
    // could lead to the folder of another namespace.
    if (real !== null && target.startsWith(`${folderOf(real, namespace)}/`)) return true
  }
  return false
}

async function readText(path: string, target: string): Promise<string> {
  // `target` is resolved, so it contains no links. Without `O_NONBLOCK`, opening a named pipe would wait for a writer.
  const file = await open(target, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    (error: unknown) => {
      throw problem(path, error)
    },
  )
  try {
    if (!(await file.stat()).isFile())
      throw new MintError(`${path} is not a regular file. Name the file that has the credential.`)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_BYTES + 1), 0, MAX_BYTES + 1, 0)
    if (bytesRead > MAX_BYTES)
      throw new MintError(
        `The file ${path} has more than ${MAX_BYTES} bytes. Name the file that has the credential alone.`,
      )
    return buffer.toString('utf8', 0, bytesRead).trim()
  } finally {
    await file.close()
  }
}

function problem(path: string, error: unknown): MintError {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOENT')
    return new MintError(`The file ${path} does not exist. Create it, or correct the path.`)
  return new MintError(
    `The file ${path} cannot be read (${code ?? 'unknown reason'}). Allow the user of the control plane to read it.`,
  )
}
