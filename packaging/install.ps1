# Downloads Tabwire, checks its sum and puts it into %LOCALAPPDATA%\Programs\Tabwire:
#   irm URL/install.ps1 | iex
# TABWIRE_RELEASES names another place of the releases, TABWIRE_BIN another folder.
# For Windows PowerShell 5.1 and later. Untried on Windows: its grammar and steps are checked, and it has run nowhere.

# A function, because `iex` runs this text in the person's own session: nothing is left there but its name.
function Install-Tabwire {
    $ErrorActionPreference = 'Stop'
    # Windows PowerShell draws its bar more slowly than it downloads.
    $ProgressPreference = 'SilentlyContinue'
    # Windows PowerShell offers no TLS 1.2 on some systems unless it is told to.
    [Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor [Net.SecurityProtocolType]::Tls12

    $version = '@VERSION@'
    $releases = if ($env:TABWIRE_RELEASES) { $env:TABWIRE_RELEASES } else { '@RELEASES@' }
    $folder = if ($env:TABWIRE_BIN) { $env:TABWIRE_BIN } else { Join-Path $env:LOCALAPPDATA 'Programs\Tabwire' }

    # `exit` would close the window of a person who runs this by `iex`.
    function Stop-Installation([string] $Reason) {
        throw "install.ps1: $Reason"
    }
    function Get-Release([string] $Name, [string] $To) {
        try {
            Invoke-WebRequest -UseBasicParsing -Uri "$releases/$Name" -OutFile $To
        } catch {
            Stop-Installation "cannot download $releases/$Name"
        }
    }

    # A PowerShell of 32 bits has the name of the system's own processor in the second variable.
    $processor = if ($env:PROCESSOR_ARCHITEW6432) { $env:PROCESSOR_ARCHITEW6432 } else { $env:PROCESSOR_ARCHITECTURE }
    switch ($processor) {
        'AMD64' { $cpu = 'x64' }
        default { Stop-Installation "there is no build for $processor" }
    }
    $target = "windows-$cpu"

    $aside = Join-Path ([IO.Path]::GetTempPath()) ([IO.Path]::GetRandomFileName())
    New-Item -ItemType Directory -Path $aside | Out-Null
    try {
        $archive = "tabwire-$version-$target.zip"
        Get-Release $archive (Join-Path $aside $archive)
        Get-Release 'SHA256SUMS' (Join-Path $aside 'SHA256SUMS')
        $wanted = $null
        foreach ($line in Get-Content (Join-Path $aside 'SHA256SUMS')) {
            $sum, $name = $line -split '\s+', 2
            if ($name -ceq $archive) { $wanted = $sum }
        }
        if (-not $wanted) { Stop-Installation "SHA256SUMS does not name $archive" }
        $sum = (Get-FileHash -Algorithm SHA256 -Path (Join-Path $aside $archive)).Hash
        if ($sum -ne $wanted) {
            Stop-Installation "$archive is not the file that SHA256SUMS names. Nothing was installed; try again"
        }

        Expand-Archive -Path (Join-Path $aside $archive) -DestinationPath $aside
        New-Item -ItemType Directory -Force -Path $folder | Out-Null
        $program = Join-Path $folder 'tabwire.exe'
        # Beside the old one first: a program that runs cannot be written over, but it can be renamed.
        $new = Join-Path $folder 'tabwire.exe.new'
        $old = Join-Path $folder 'tabwire.exe.old'
        Remove-Item -Force -ErrorAction SilentlyContinue -Path $old
        if (Test-Path $old) { Stop-Installation "$old still runs. Nothing was installed; run tabwire stop, and try again" }
        Copy-Item -Force -Path (Join-Path $aside "tabwire-$version-$target\tabwire.exe") -Destination $new
        if (Test-Path $program) { Move-Item -Force -Path $program -Destination $old }
        Move-Item -Force -Path $new -Destination $program
    } finally {
        Remove-Item -Recurse -Force -ErrorAction SilentlyContinue -Path $aside
    }
    Write-Output "Tabwire $version is at $program."
    if (($env:Path -split ';') -contains $folder) {
        Write-Output 'Next: tabwire install'
    } else {
        Write-Output "Next: & '$program' install   ($folder is not in your PATH)"
    }
}

Install-Tabwire
