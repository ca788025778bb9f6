import { isOpenToCaptured } from '../capture/captured-access.ts'
import { realFolderPath } from '../state/folder-ownership.ts'
import { recordManifestFolder } from '../state/manifest-folders.ts'
import type { InstallationOptions } from './installation.ts'

/**
 * Masks the manifests folder for commands whose capture starts later. Returns false, with a warning, while a
 * captured command has access to the folder: the command could otherwise write a manifest whose credential is a command
 * of its choice, which the control plane would run outside of the capture.
 */
export function protectManifests({
  env,
  manifests,
  warn,
}: Pick<InstallationOptions, 'env' | 'manifests' | 'warn'>): boolean {
  recordManifestFolder(env, manifests)
  if (!isOpenToCaptured(realFolderPath(manifests))) return true
  warn(
    `A captured command that runs now has access to ${manifests}, so credentials from env, file and exec are off. End the command, check the manifests, and start Chaperone again.`,
  )
  return false
}
