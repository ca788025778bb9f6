import packageFile from '../package.json' with { type: 'json' }

/** The program's version: `X-Service-Version` (spec 9.2). */
export const VERSION: string = packageFile.version
