import { join } from 'node:path'
import { addFolder, type FileTree, gzip, packTree, textFile } from './file-tree.ts'

/** Returns the chart as Helm packages it, with `image.digest` set to the digest of the released image. */
export async function chartArchive(chart: string, digest: string, timeS: number): Promise<Buffer> {
  const tree: FileTree = new Map()
  addFolder(tree, chart, 'chaperone')
  tree.delete('chaperone/.helmignore')
  const values = tree.get('chaperone/values.yaml')
  const text = values?.type === 'file' ? Buffer.from(values.content).toString('utf8') : ''
  const pinned = text.replace(/^(image:\n(?: .*\n)*? {2}digest: )""$/m, `$1"${digest}"`)
  if (pinned === text) throw new Error(`${join(chart, 'values.yaml')} has no empty image.digest`)
  tree.set('chaperone/values.yaml', textFile(pinned))
  return gzip(await packTree(tree, timeS))
}
