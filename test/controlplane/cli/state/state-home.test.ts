import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  readStateFile,
  removeStateFile,
  stateHome,
  statePath,
  writeStateFile,
} from '../../../../controlplane/cli/state/state-home.ts'

let root: string
let env: NodeJS.ProcessEnv
let dir: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'chaperone-home-'))
  env = { XDG_STATE_HOME: root }
  dir = join(root, 'chaperone')
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

describe('the state home', () => {
  it.each([
    [{ XDG_STATE_HOME: '/state', HOME: '/home/jo' }, '/state/chaperone'],
    [{ XDG_STATE_HOME: '', HOME: '/home/jo' }, '/home/jo/.local/state/chaperone'],
    [{ XDG_STATE_HOME: 'relative', HOME: '/home/jo' }, '/home/jo/.local/state/chaperone'],
    [{ HOME: '/home/jo' }, '/home/jo/.local/state/chaperone'],
  ])('of %j is %s', (given, expected) => {
    expect(statePath(given)).toBe(expected)
  })

  it('is created with mode 0700, and read rights of other users are removed', () => {
    expect(stateHome(env)).toBe(dir)
    expect(statSync(dir).mode & 0o777).toBe(0o700)
    chmodSync(dir, 0o755)
    stateHome(env)
    expect(statSync(dir).mode & 0o777).toBe(0o700)
  })

  it.each([0o770, 0o720, 0o702, 0o777, 0o1777])('is rejected with the mode %o', (mode) => {
    mkdirSync(dir)
    chmodSync(dir, mode)
    expect(() => stateHome(env)).toThrow('writable by other users')
  })

  it('is rejected when it is a link or a file', () => {
    mkdirSync(join(root, 'elsewhere'))
    symlinkSync(join(root, 'elsewhere'), dir)
    expect(() => stateHome(env)).toThrow('is not a folder')
    rmSync(dir)
    writeFileSync(dir, '')
    expect(() => stateHome(env)).toThrow('cannot be created')
  })

  it('stores files that only the user can read', () => {
    expect(readStateFile(env, 'session.json')).toBeUndefined()
    writeStateFile(env, 'session.json', '{}')
    expect(statSync(join(dir, 'session.json')).mode & 0o777).toBe(0o600)
    expect(readStateFile(env, 'session.json')).toBe('{}')
    removeStateFile(env, 'session.json')
    removeStateFile(env, 'session.json')
    expect(readStateFile(env, 'session.json')).toBeUndefined()
  })

  it.each([0o640, 0o604, 0o660, 0o666])('rejects a file with the mode %o', (mode) => {
    writeStateFile(env, 'session.json', '{}')
    chmodSync(join(dir, 'session.json'), mode)
    expect(() => readStateFile(env, 'session.json')).toThrow(/chmod/)
  })

  it('rejects a link and a folder in place of a file', () => {
    writeFileSync(join(root, 'planted'), '{}', { mode: 0o600 })
    stateHome(env)
    symlinkSync(join(root, 'planted'), join(dir, 'session.json'))
    expect(() => readStateFile(env, 'session.json')).toThrow('symbolic link')
    mkdirSync(join(dir, 'trust'))
    expect(() => readStateFile(env, 'trust')).toThrow('is not a file')
  })
})
