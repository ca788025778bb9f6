import { statSync } from 'node:fs'
import * as z from 'zod'
import { realFolderPath } from './folder-ownership.ts'
import { readStateJson, writeStateFile } from './state-home.ts'

const FILE = 'manifest-folders.json'
const Stored = z.object({ folders: z.array(z.string()) })

/**
 * Returns the real paths of the existing manifests folders with which installations of this user were started. Captured
 * commands must not write to these folders, because a manifest can name a command that the control plane runs.
 */
export function manifestFolders(env: NodeJS.ProcessEnv): readonly string[] {
  const folders = readStateJson(env, FILE, Stored)?.folders ?? []
  return folders.filter((folder) => statSync(folder, { throwIfNoEntry: false }) !== undefined)
}

/** Adds a manifests folder to the list. Removes folders that no longer exist from the list. */
export function recordManifestFolder(env: NodeJS.ProcessEnv, manifests: string): void {
  const folders = [...new Set([...manifestFolders(env), realFolderPath(manifests)])].sort()
  writeStateFile(env, FILE, `${JSON.stringify({ folders })}\n`)
}
