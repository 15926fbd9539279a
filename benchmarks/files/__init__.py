"""What a study file may hold that no Tidepool wrote."""
