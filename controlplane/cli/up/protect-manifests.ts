import { ChaperoneError } from '../../../core/errors.ts'
import { isOpenToCaptured } from '../capture/captured-access.ts'
import { startingCapturesMasked } from '../capture/starting-captures.ts'
import { realFolderPath } from '../state/folder-ownership.ts'
import { recordManifestFolder } from '../state/manifest-folders.ts'
import type { InstallationOptions } from './installation.ts'

type ManifestsProtection = Pick<InstallationOptions, 'env' | 'manifests' | 'warn'> & {
  /** True if the user has checked the folder, or if this process has created it. */
  readonly isTrusted: boolean
}

/**
 * Masks the manifests folder for commands whose capture starts later. Returns false, with a warning, if a captured
 * command has access to the folder, or if the folder was replaced: a command could otherwise write a manifest whose
 * credential is a command of its choice, which the control plane would run outside of the capture.
 */
export async function protectManifests({
  env,
  manifests,
  warn,
  isTrusted,
}: ManifestsProtection): Promise<boolean> {
  if (!recordManifestFolder(env, manifests, { isTrusted })) {
    warn(
      `${manifests} is not the folder with which Chaperone was started before: this folder or a parent was moved, or created again. A captured command could have written its manifests, so credentials from env, file and exec are off. Check the commands, variables and files that the manifests name, then start Chaperone once with --trust-manifests.`,
    )
    return false
  }
  if ((await startingCapturesMasked(env)) && !isOpenToCaptured(realFolderPath(manifests), env)) return true
  warn(
    `A captured command that runs now has access to ${manifests}, so credentials from env, file and exec are off. End the command, check the manifests, and start Chaperone again.`,
  )
  return false
}

/**
 * Throws `conflict` while a captured command has access to the data folder, because its capture started before the
 * folder was listed. The command could otherwise read the tokens in the folder.
 */
export async function assertDataFolderMasked(env: NodeJS.ProcessEnv, root: string): Promise<void> {
  if ((await startingCapturesMasked(env)) && !isOpenToCaptured(realFolderPath(root), env)) return
  throw new ChaperoneError('conflict', {
    detail: `A captured command that runs now has access to the data folder ${root}, because it started before this folder was listed for captures. End the command (chaperone run --capture), and start Chaperone again. If the folder was not new, the command may have read its keys.`,
  })
}
