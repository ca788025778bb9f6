import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { type GitObject, idOf } from './git-pack.ts'

export type GitRepository = {
  readonly folder: string
  git(args: readonly string[], input?: string | Buffer): Buffer
  /** Writes a loose object without validation, so that tests can store malformed objects. Returns the object id. */
  write(object: GitObject): string
  remove(): void
}

/**
 * Creates a git repository in a temporary folder. The repository ignores the git configuration of the user and the machine.
 */
export function createGitRepository(): GitRepository {
  const folder = mkdtempSync(join(tmpdir(), 'chaperone-git-'))
  const env = {
    PATH: process.env['PATH'],
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: 'a',
    GIT_AUTHOR_EMAIL: 'a@example.com',
    GIT_COMMITTER_NAME: 'a',
    GIT_COMMITTER_EMAIL: 'a@example.com',
  }
  const git = (args: readonly string[], input?: string | Buffer): Buffer =>
    execFileSync('git', args, {
      cwd: folder,
      env,
      maxBuffer: 1024 * 1024 * 1024,
      stdio: ['pipe', 'pipe', 'pipe'],
      ...(input === undefined ? {} : { input }),
    })
  git(['init', '-q', '-b', 'main'])
  return {
    folder,
    git,
    write(object) {
      const id = idOf(object)
      const place = join(folder, '.git/objects', id.slice(0, 2))
      mkdirSync(place, { recursive: true })
      const bytes = Buffer.concat([Buffer.from(`${object.type} ${object.data.length}\0`), object.data])
      writeFileSync(join(place, id.slice(2)), deflateSync(bytes))
      return id
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
