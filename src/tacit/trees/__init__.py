"""Tree ensembles: FastXML, PfastXML, PfastreXML."""
