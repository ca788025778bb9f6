import { existsSync, statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { ChaperoneError } from '../../../core/errors.ts'
import { usageError } from '../arguments.ts'
import { type Command, EXIT, flag, type Invocation } from '../command.ts'
import { assertOwnedDataFolder, dataFolder, FOLDER_NAME } from './data-folder.ts'
import { realFolderPath } from './folder-ownership.ts'
import { setTrustedFolders, trustedFolders } from './trusted-folders.ts'

export const trust: Command = {
  name: 'trust',
  summary: 'Lets a data folder in a working tree count; without it only the one in your home does.',
  usage: ['trust DIR', 'trust --list', 'trust --remove DIR'],
  details:
    'A repository can bring a folder .chaperone with tokens and addresses of somebody else. The list is kept in your home.\n' +
    'Whoever can write to the folder later is trusted, too. --data DIR and CHAPERONE_DATA name a folder without it.',
  words: 1,
  options: {
    list: { type: 'boolean', help: 'print the trusted folders' },
    remove: { type: 'boolean', help: 'no longer trust DIR' },
  },
  examples: [
    ['chaperone trust .', 'the folder .chaperone of this working tree'],
    ['chaperone trust --remove .', 'the folder in your home counts again'],
  ],
  run,
}

async function run(invocation: Invocation): Promise<number> {
  const [given] = invocation.positionals
  if (flag(invocation, 'list')) return list(invocation, given)
  if (given === undefined) throw usageError(trust, 'Which folder? chaperone trust DIR.')
  const { env, cwd, terminal } = invocation
  const folder = folderOf(resolve(cwd, given))
  const isRemoved = flag(invocation, 'remove')
  const trusted = trustedFolders(env)
  if (isRemoved) remove(env, folder, trusted)
  else add(env, folder, trusted)
  const sentence = isRemoved ? 'is no longer trusted' : 'is trusted in the working tree that it is in'
  const asJson = flag(invocation, 'json')
  terminal.print(asJson ? JSON.stringify({ folder, trusted: !isRemoved }) : `${folder} ${sentence}.`)
  return EXIT.ok
}

function list(invocation: Invocation, given: string | undefined): number {
  if (given !== undefined) throw usageError(trust, '--list takes no folder.')
  const folders = trustedFolders(invocation.env)
  const lines = flag(invocation, 'json') ? [JSON.stringify({ folders })] : folders
  for (const line of lines) invocation.terminal.print(line)
  return EXIT.ok
}

/** A working tree stands for the data folder in it. */
function folderOf(dir: string): string {
  const inside = join(dir, FOLDER_NAME)
  return realFolderPath(existsSync(inside) ? inside : dir)
}

function add(env: NodeJS.ProcessEnv, folder: string, trusted: readonly string[]): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new ChaperoneError('conflict', {
      detail: `There is no data folder ${folder}. Name one that exists, or make one with npm start in the checkout.`,
    })
  }
  const { root, keys } = dataFolder(folder)
  if (basename(root) !== FOLDER_NAME && !existsSync(keys)) {
    throw new ChaperoneError('conflict', {
      detail: `${root} is no data folder, and there is no ${FOLDER_NAME} in it. Name the data folder, or the working tree that it is in.`,
    })
  }
  assertOwnedDataFolder(dataFolder(folder))
  setTrustedFolders(env, [...trusted, folder])
}

function remove(env: NodeJS.ProcessEnv, folder: string, trusted: readonly string[]): void {
  if (!trusted.includes(folder)) {
    throw new ChaperoneError('not_found', { detail: `${folder} is not trusted. See: chaperone trust --list` })
  }
  setTrustedFolders(
    env,
    trusted.filter((one) => one !== folder),
  )
}
