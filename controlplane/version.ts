import packageFile from '../package.json' with { type: 'json' }

/** Version of the program. The response header `X-Service-Version` contains it (spec 9.2). */
export const VERSION: string = packageFile.version
