import packageFile from '../package.json' with { type: 'json' }

/** Version of the program: `X-Service-Version` (spec 9.2). */
export const VERSION: string = packageFile.version
